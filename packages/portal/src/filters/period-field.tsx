/** Selects a period: a preset or any two days. */
import { Button, Menu, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../components/icon.tsx';
import { useTranslate } from '../locales/index.ts';
import { nowMs } from '../session/clock.ts';
import { subtractDays } from '../session/locale-formats.ts';
import { useFormats } from '../session/use-session.ts';

/** The locale key of a preset period, and its first and last day as days before today. */
const presetPeriods = [
  ['today', 0, 0],
  ['yesterday', 1, 1],
  ['week', 6, 0],
  ['month', 29, 0],
  ['quarter', 89, 0],
] as const;

export function PeriodField({
  label,
  from = '',
  to = '',
  onChange,
}: {
  readonly label: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly onChange: (from: string, to: string) => void;
}) {
  const t = useTranslate('components');
  const formats = useFormats();
  const [isOpen, setOpen] = useState(false);
  const today = formats.dayOf(nowMs());
  const preset = presetPeriods.find(
    ([, first, last]) => from === subtractDays(today, first) && to === subtractDays(today, last),
  );
  const open = (day: string) => (day === '' ? '…' : formats.day(day));
  const text =
    from === '' && to === ''
      ? label
      : preset !== undefined
        ? t(`period.${preset[0]}`)
        : `${open(from)} – ${open(to)}`;
  return (
    <Menu opened={isOpen} onChange={setOpen} position="bottom-start" trapFocus>
      <Menu.Target>
        <Button
          variant="default"
          className="sy-filter-period"
          leftSection={<Icon name="clock" size={16} />}
          rightSection={<Icon name="chevronDown" size={14} />}
          aria-label={`${label}: ${text}`}
        >
          {text}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {presetPeriods.map(([word, first, last]) => (
          <Menu.Item
            key={word}
            onClick={() => onChange(subtractDays(today, first), subtractDays(today, last))}
          >
            {t(`period.${word}`)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <div className="sy-period-days">
          <TextInput
            type="date"
            label={t('period.from')}
            value={from}
            max={to === '' ? today : to}
            onChange={({ currentTarget }) => onChange(currentTarget.value, to)}
          />
          <TextInput
            type="date"
            label={t('period.to')}
            value={to}
            min={from}
            onChange={({ currentTarget }) => onChange(from, currentTarget.value)}
          />
        </div>
      </Menu.Dropdown>
    </Menu>
  );
}
