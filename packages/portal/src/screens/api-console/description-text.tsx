/** Renders description texts of the platform, with code in backquotes. */
import type { ReactNode } from 'react';

function marked(text: string): ReactNode[] {
  return text.split('`').map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one sentence, in their order for ever
      <code key={at}>{part}</code>
    ) : (
      part
    ),
  );
}

/** One line of a description, for lists. */
export function InlineDescription({ children }: { readonly children: string }) {
  return <>{marked(children)}</>;
}

export function DescriptionText({ children }: { readonly children: string }) {
  const paragraphs = children.split(/\n{2,}/).filter((each) => each.trim() !== '');
  return (
    <div className="sy-ref-prose sy-broken">
      {paragraphs.map((each) => (
        <p key={each}>{marked(each)}</p>
      ))}
    </div>
  );
}
