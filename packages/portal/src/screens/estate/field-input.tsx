/** Renders the input of a form field by its kind. */
import { MultiSelect, Select, Switch, TagsInput, TextInput } from '@mantine/core';
import { useMemo } from 'react';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { useLanguage, useTranslate } from '../../locales/index.ts';
import { countryNames, timeZones } from './countries-and-time-zones.ts';
import { EntityPicker } from './entity-picker.tsx';
import type { DraftValue, Field, LabelPair } from './form-fields.ts';
import { LabelsField } from './labels-field.tsx';

export type FieldInputProps = {
  readonly field: Field;
  readonly value: DraftValue;
  readonly error: string | undefined;
  /** True if the form edits an existing entity. */
  readonly isEdit: boolean;
  readonly isFirst: boolean;
  readonly onChange: (value: DraftValue) => void;
};

type Order = ('label' | 'input' | 'description' | 'error')[];

const textOf = (value: DraftValue): string => (typeof value === 'string' ? value : '');
const listOf = (value: DraftValue): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

export function FieldInput(props: FieldInputProps) {
  const { field, value, error, isEdit, onChange } = props;
  const t = useTranslate('estate');
  const common = {
    label: t(`fields.${field.name}`),
    description: field.hasHint ? t(`hints.${field.name}`) : undefined,
    error,
    disabled: isEdit && field.isFixed === true,
    // Keeps inputs of one row aligned, with or without a hint.
    inputWrapperOrder: ['label', 'input', 'description', 'error'] as Order,
  };
  switch (field.kind) {
    case 'switch':
      return (
        <Switch
          label={common.label}
          description={common.description}
          error={error}
          className="sy-form-switch"
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      );
    case 'labels':
      return (
        <LabelsField value={value as readonly LabelPair[]} error={error} onChange={onChange} />
      );
    case 'words':
      return (
        <TagsInput
          {...common}
          required={field.isRequired === true}
          maxLength={field.max}
          value={listOf(value)}
          splitChars={[',', ' ', ';']}
          acceptValueOnBlur
          onChange={onChange}
        />
      );
    case 'choices':
      return (
        <MultiSelect
          {...common}
          required={field.isRequired === true}
          data={(field.options ?? []).map((each) => ({ value: each, label: t(`options.${each}`) }))}
          value={listOf(value)}
          onChange={onChange}
        />
      );
    case 'merchant':
    case 'store':
      return (
        <EntityPicker
          {...common}
          kind={field.kind === 'merchant' ? 'merchants' : 'stores'}
          isRequired={field.isRequired === true}
          isDisabled={common.disabled}
          value={textOf(value)}
          onChange={onChange}
        />
      );
    case 'link':
      return <LinkChoice {...props} common={common} />;
    default:
      return <TextOrChoice {...props} common={common} />;
  }
}

function useOptions({ kind, options = [] }: Field) {
  const t = useTranslate('estate');
  const language = useLanguage();
  return useMemo(() => {
    if (kind === 'country') return countryNames(language);
    if (kind === 'zone') return timeZones().map((zone) => ({ value: zone, label: zone }));
    if (kind !== 'choice') return undefined;
    return options.map((each) => ({ value: each, label: t(`options.${each}`) }));
  }, [kind, options, language, t]);
}

/** An organisation has few acquirer links, so one page contains all of them. */
function LinkChoice({
  field,
  value,
  common,
  onChange,
}: FieldInputProps & { readonly common: Common }) {
  const links = useEntityNames('acquirer-links').data;
  return (
    <Select
      {...common}
      required={field.isRequired === true}
      searchable
      data={[...(links ?? [])].map(([id, label]) => ({ value: id, label }))}
      value={textOf(value) === '' ? null : textOf(value)}
      onChange={(next) => onChange(next ?? '')}
    />
  );
}

type Common = {
  readonly label: string;
  readonly description: string | undefined;
  readonly error: string | undefined;
  readonly disabled: boolean;
  readonly inputWrapperOrder: Order;
};

function TextOrChoice({
  field,
  value,
  isFirst,
  common,
  onChange,
}: FieldInputProps & { readonly common: Common }) {
  const options = useOptions(field);
  const isRequired = field.isRequired === true;
  if (options === undefined) {
    const isNumber = field.kind === 'number';
    return (
      <TextInput
        {...common}
        required={isRequired}
        type={field.kind === 'email' || field.kind === 'tel' ? field.kind : 'text'}
        inputMode={isNumber ? 'numeric' : undefined}
        autoComplete="off"
        maxLength={field.max ?? (isNumber ? 12 : undefined)}
        data-autofocus={isFirst}
        value={textOf(value)}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    );
  }
  return (
    <Select
      {...common}
      required={isRequired}
      data={options}
      limit={100}
      searchable={options.length > 8}
      clearable={!isRequired}
      allowDeselect={!isRequired}
      value={textOf(value) === '' ? null : textOf(value)}
      onChange={(next) => onChange(next ?? '')}
    />
  );
}
