/** The method of a call: those that change something have another colour than those that read. */
export function Method({ of }: { readonly of: string }) {
  return (
    <span className="sy-ref-method" data-method={of}>
      {of}
    </span>
  );
}
