/** Renders one line of a description of the platform, with code in backquotes. */
export function InlineDescription({ children }: { readonly children: string }) {
  return children.split('`').map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one sentence, in their order for ever
      <code key={at}>{part}</code>
    ) : (
      part
    ),
  );
}
