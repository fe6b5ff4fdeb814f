package kubeclient

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Unanswered reports whether the API server may have executed the request: its answer was lost, or
// reports a failure meanwhile.
func Unanswered(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError)
}
