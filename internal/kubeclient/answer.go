package kubeclient

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Unanswered reports whether the API server may have done what it was asked: its answer was
// lost, or says that something failed meanwhile.
func Unanswered(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError)
}
