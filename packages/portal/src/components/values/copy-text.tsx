/** A text that is copied with one press: an identifier, a secret that is shown once. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';

export function CopyText({
  text,
  displayText = text,
  label,
}: {
  readonly text: string;
  /** As people read it: in groups, for instance. */
  readonly displayText?: string;
  /** What it is, for those who hear the page: `Payment`. */
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
