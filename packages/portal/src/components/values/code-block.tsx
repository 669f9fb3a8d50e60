/** Shows JSON, a command or a response with a copy button and its own scroll bar. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';
import './code-block.css';

/** Longer texts would block the page. Copying still copies the complete text. */
const maxChars = 60_000;

/** Indents JSON; other text is returned unchanged. */
export function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

export function CodeBlock({
  text,
  label,
  isTall = false,
}: {
  readonly text: string;
  /** The accessible name. */
  readonly label: string;
  readonly isTall?: boolean;
}) {
  const t = useTranslate('components');
  const { copy, copied } = useClipboard({ timeout: 1_500 });
  const displayed = text.length > maxChars ? `${text.slice(0, maxChars)}\n…` : text;
  return (
    <div className="sy-code" data-tall={isTall}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also for who has no mouse */}
      {/* biome-ignore lint/a11y/useSemanticElements: a set of fields is something else */}
      <pre tabIndex={0} role="group" aria-label={label}>
        <code>{displayed}</code>
      </pre>
      <Tooltip label={t(copied ? 'copy.done' : 'copy.do')}>
        <ActionIcon
          className="sy-code-copy"
          variant="default"
          size="md"
          aria-label={`${t(copied ? 'copy.done' : 'copy.do')}: ${label}`}
          onClick={() => copy(text)}
        >
          <Icon name={copied ? 'check' : 'copy'} size={15} />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}
