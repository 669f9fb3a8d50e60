/** The HTTP method of an operation; the colour shows if it changes data. */
export function MethodBadge({ method }: { readonly method: string }) {
  return (
    <span className="sy-ref-method" data-method={method}>
      {method}
    </span>
  );
}
