/** A text with a copy button, such as an identifier or a secret. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';

export function CopyableText({
  text,
  displayText = text,
  label,
}: {
  readonly text: string;
  /** The text to display, for example in groups of digits. */
  readonly displayText?: string;
  /** The accessible name, such as `Payment`. */
  readonly label: string;
}) {
  const t = useTranslate('components');
  const { copy, copied } = useClipboard({ timeout: 1_500 });
  return (
    <span className="sy-copy">
      <span className="sy-mono sy-broken">{displayText}</span>
      <Tooltip label={t(copied ? 'copy.done' : 'copy.do')}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={`${t(copied ? 'copy.done' : 'copy.do')}: ${label}`}
          onClick={() => copy(text)}
        >
          <Icon name={copied ? 'check' : 'copy'} size={15} />
        </ActionIcon>
      </Tooltip>
    </span>
  );
}
