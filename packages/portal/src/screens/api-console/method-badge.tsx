/** The method of a call: those that change something have another colour than those that read. */
export function Method({ method }: { readonly method: string }) {
  return (
    <span className="sy-ref-method" data-method={method}>
      {method}
    </span>
  );
}
