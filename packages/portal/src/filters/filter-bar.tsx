/** The filters of a list in one line. The page address contains their values. */
import './filter-bar.css';
import { Button, Menu, MultiSelect, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { type ReactNode, useEffect, useState } from 'react';
import { Icon } from '../components/icon.tsx';
import { useTranslate } from '../locales/index.ts';
import { nowMs } from '../session/clock.ts';
import { subtractDays } from '../session/locale-formats.ts';
import { useFormats } from '../session/use-session.ts';
import type { Option } from './filter-options.ts';
import { SavedViewsMenu } from './saved-views-menu.tsx';
import type { FilterValues } from './use-filters.ts';

export type FilterField<Name extends string> =
  | { readonly kind: 'search' | 'text'; readonly name: Name; readonly label: string }
  | {
      readonly kind: 'choice' | 'choices';
      readonly name: Name;
      readonly label: string;
      readonly options: readonly Option[];
      /** One option is always selected, so it cannot be cleared. */
      readonly isAlwaysSet?: boolean;
    }
  /** Two days, `from` and `to` in the page address, both included. */
  | { readonly kind: 'period'; readonly from: Name; readonly to: Name; readonly label: string };

const pauseMs = 300;

export function FilterBar<Name extends string>({
  fields,
  values,
  chosenValues = values,
  onChange,
  views,
  children,
}: {
  readonly fields: readonly FilterField<Name>[];
  readonly values: FilterValues<Name>;
  /** The values that the user chose, if `values` also contains defaults. */
  readonly chosenValues?: FilterValues<Name>;
  readonly onChange: (change: FilterValues<Name>) => void;
  /** The name of the list for saved views; without it, views cannot be saved. */
  readonly views?: string | undefined;
  /** More buttons at the end of the line. */
  readonly children?: ReactNode;
}) {
  const t = useTranslate('components');
  const names = fields.flatMap((field) =>
    field.kind === 'period' ? [field.from, field.to] : [field.name],
  );
  const [isOpen, setOpen] = useState(false);
  const chosen = names.filter((name) => chosenValues[name] !== undefined).length;
  const noValues = Object.fromEntries(names.map((name) => [name, ''])) as FilterValues<Name>;
  return (
    <search className="sy-filters" data-open={isOpen}>
      {fields.map((field) => (
        <Field
          key={field.kind === 'period' ? field.from : field.name}
          field={field}
          values={values}
          onChange={onChange}
        />
      ))}
      {fields.length > 2 && (
        <Button
          className="sy-filters-toggle"
          variant="default"
          aria-expanded={isOpen}
          leftSection={<Icon name="filter" size={16} />}
          onClick={() => setOpen(!isOpen)}
        >
          {chosen === 0 ? t('filters.title') : t('filters.chosen', { count: chosen })}
        </Button>
      )}
      {chosen > 0 && (
        <Button
          variant="subtle"
          leftSection={<Icon name="close" size={14} />}
          onClick={() => onChange(noValues)}
        >
          {t('filters.clear')}
        </Button>
      )}
      <div className="sy-filters-end">
        {views !== undefined && <SavedViewsMenu list={views} />}
        {children}
      </div>
    </search>
  );
}

function Field<Name extends string>({
  field,
  values,
  onChange,
}: {
  readonly field: FilterField<Name>;
  readonly values: FilterValues<Name>;
  readonly onChange: (change: FilterValues<Name>) => void;
}) {
  const set = (name: Name, value: string) =>
    onChange({ [name]: value } as unknown as FilterValues<Name>);
  switch (field.kind) {
    case 'period':
      return (
        <PeriodField
          label={field.label}
          from={values[field.from]}
          to={values[field.to]}
          onChange={(from, to) =>
            onChange({ [field.from]: from, [field.to]: to } as unknown as FilterValues<Name>)
          }
        />
      );
    case 'choice':
      return (
        <Select
          className="sy-filter"
          aria-label={field.label}
          placeholder={field.label}
          style={{ '--sy-filter-label': `calc(${field.label.length}ch + 2rem)` }}
          data={[...field.options]}
          value={values[field.name] ?? null}
          clearable={field.isAlwaysSet !== true}
          searchable={field.options.length > 8}
          onChange={(value) => set(field.name, value ?? '')}
        />
      );
    case 'choices':
      return <Choices field={field} value={values[field.name]} set={set} />;
    default:
      return (
        <TextField
          label={field.label}
          isSearch={field.kind === 'search'}
          value={values[field.name] ?? ''}
          onChange={(value) => set(field.name, value)}
        />
      );
  }
}

/** Several options, separated by commas in the page address. */
function Choices<Name extends string>({
  field,
  value,
  set,
}: {
  readonly field: {
    readonly name: Name;
    readonly label: string;
    readonly options: readonly Option[];
  };
  readonly value: string | undefined;
  readonly set: (name: Name, value: string) => void;
}) {
  const chosen = value?.split(',') ?? [];
  return (
    <MultiSelect
      className="sy-filter"
      aria-label={field.label}
      placeholder={chosen.length === 0 ? field.label : undefined}
      data={[...field.options]}
      value={chosen}
      clearable
      hidePickedOptions
      onChange={(next) => set(field.name, next.join(','))}
    />
  );
}

/** Applies the text after a pause in typing. */
function TextField({
  label,
  isSearch,
  value,
  onChange,
}: {
  readonly label: string;
  readonly isSearch: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const [text, setText] = useState(value);
  const changeLater = useDebouncedCallback((next: string) => onChange(next.trim()), pauseMs);
  // The page address also changes by a saved view or by the back button.
  useEffect(() => setText((typed) => (typed.trim() === value ? typed : value)), [value]);
  return (
    <TextInput
      className={isSearch ? 'sy-filter sy-filter-search' : 'sy-filter'}
      aria-label={label}
      placeholder={label}
      type={isSearch ? 'search' : 'text'}
      maxLength={128}
      leftSection={isSearch ? <Icon name="search" size={16} /> : undefined}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value);
        changeLater(currentTarget.value);
      }}
    />
  );
}

/** The locale key of a preset period, and its first and last day as days before today. */
const presetPeriods = [
  ['today', 0, 0],
  ['yesterday', 1, 1],
  ['week', 6, 0],
  ['month', 29, 0],
  ['quarter', 89, 0],
] as const;

function PeriodField({
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
