/** Edits labels: key and value pairs for search and grouping. */
import { ActionIcon, Button, Input, TextInput } from '@mantine/core';
import { useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';
import type { LabelPair } from './form-fields.ts';

const labelsMost = 20;

export function LabelsField({
  value,
  error,
  onChange,
}: {
  readonly value: readonly LabelPair[];
  readonly error: string | undefined;
  readonly onChange: (value: readonly LabelPair[]) => void;
}) {
  const t = useTranslate('components');
  const change = (at: number, pair: LabelPair) =>
    onChange(value.map((each, index) => (index === at ? pair : each)));
  return (
    <div className="sy-labels">
      {value.map(([key, text], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a pair is its place; its name is being typed
        <div key={at} className="sy-label-pair">
          <TextInput
            aria-label={t('labels.key', { number: at + 1 })}
            placeholder={t('labels.keyExample')}
            maxLength={64}
            value={key}
            onChange={({ currentTarget }) => change(at, [currentTarget.value, text])}
          />
          <TextInput
            aria-label={t('labels.value', { number: at + 1 })}
            placeholder={t('labels.valueExample')}
            maxLength={128}
            value={text}
            onChange={({ currentTarget }) => change(at, [key, currentTarget.value])}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={t('labels.remove', { number: at + 1 })}
            onClick={() => onChange(value.filter((_, index) => index !== at))}
          >
            <Icon name="trash" size={16} />
          </ActionIcon>
        </div>
      ))}
      {error !== undefined && <Input.Error role="alert">{error}</Input.Error>}
      <div>
        <Button
          variant="default"
          size="xs"
          leftSection={<Icon name="plus" size={14} />}
          disabled={value.length >= labelsMost}
          onClick={() => onChange([...value, ['', '']])}
        >
          {t('labels.add')}
        </Button>
      </div>
    </div>
  );
}
