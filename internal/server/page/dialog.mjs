import { useEffect, useRef } from "./vendor/preact.mjs";

// useDialog returns a ref of a dialog that is shown modally and tells when it closes. The focus returns to where
// it was once the dialog is removed: until then the page around it takes none.
export function useDialog(close) {
  const ref = useRef();
  useEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => queueMicrotask(() => before?.focus?.());
  }, []);
  return { ref, onClose: close, onCancel: close, onClick: (e) => e.target === ref.current && close() };
}
