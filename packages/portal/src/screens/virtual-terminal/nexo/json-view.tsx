/** Shows a message as indented, highlighted JSON. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Icon } from '../../../components/icon.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { indentJson, jsonTokens } from './json-tokens.ts';

/** Longer texts would block the page. Copying still copies the complete text. */
const maxChars = 40_000;

export function JsonView({ text, label }: { readonly text: string; readonly label: string }) {
  const t = useTranslate('components');
  const { copy, copied } = useClipboard({ timeout: 1_500 });
  const whole = indentJson(text);
  return (
    <div className="sy-json">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also for who has no mouse */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          {jsonTokens(whole.slice(0, maxChars)).map(({ kind, text: part }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text, in their order
            <span key={at} data-kind={kind}>
              {part}
            </span>
          ))}
          {whole.length > maxChars && '\n…'}
        </pre>
      </section>
      <Tooltip label={t(copied ? 'copy.done' : 'copy.do')}>
        <ActionIcon
          className="sy-json-copy"
          variant="default"
          aria-label={`${t(copied ? 'copy.done' : 'copy.do')}: ${label}`}
          onClick={() => copy(whole)}
        >
          <Icon name={copied ? 'check' : 'copy'} size={15} />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}
