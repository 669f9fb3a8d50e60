/** Renders the input of a form field by its kind. */
import {
  ActionIcon,
  Button,
  Checkbox,
  Input,
  MultiSelect,
  Radio,
  Select,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { type Translate, useLanguage, useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';
import { useEntityNames } from '../values/entity-name.tsx';
import { countryNames, timeZones } from './countries-and-time-zones.ts';
import { EntityPicker } from './entity-picker.tsx';
import {
  type DraftValue,
  draftList,
  draftText,
  type Field,
  isInvalidJson,
  type LabelPair,
} from './form-fields.ts';

type FieldInputProps = {
  readonly field: Field;
  /** Translates `fields.{name}`, `hints.{name}` and `options.{value}`. */
  readonly t: Translate;
  readonly value: DraftValue;
  readonly error: string | undefined;
  /** True if the form edits an existing entity. */
  readonly isEdit: boolean;
  readonly isFirst?: boolean;
  /** Keeps inputs of one row aligned, with or without a hint. */
  readonly hasHintBelow?: boolean;
  readonly onChange: (value: DraftValue) => void;
};

/** A list of more options than this has a search. */
const shortList = 8;
const longestNumber = 12;

function commonProps({ field, t, error, isEdit, hasHintBelow = false }: FieldInputProps) {
  return {
    label: t(`fields.${field.name}`),
    description: field.hasHint ? t(`hints.${field.name}`) : undefined,
    error,
    required: field.isRequired === true,
    disabled: isEdit && field.isFixed === true,
    placeholder: field.placeholder,
    ...(hasHintBelow && {
      inputWrapperOrder: ['label', 'input', 'description', 'error'] as (
        | 'label'
        | 'input'
        | 'description'
        | 'error'
      )[],
    }),
  };
}

const optionsOf = ({ options = [] }: Field, t: Translate) =>
  options.map((each) => {
    if (typeof each === 'string') return { value: each, label: t(`options.${each}`) };
    return 'group' in each ? { group: each.group, items: [...each.items] } : each;
  });

export function FieldInput(props: FieldInputProps) {
  const { field, value, error, onChange } = props;
  switch (field.kind) {
    case 'switch':
    case 'checkbox':
      return <OnOff {...props} />;
    case 'labels':
      return (
        <LabelsField value={value as readonly LabelPair[]} error={error} onChange={onChange} />
      );
    case 'paragraph':
    case 'lines':
    case 'json':
      return <TextArea {...props} />;
    case 'radio':
    case 'checkboxes':
      return <OptionList {...props} />;
    case 'words':
    case 'choices':
      return <ListInput {...props} />;
    case 'merchant':
    case 'store':
      return (
        <EntityPicker
          {...commonProps(props)}
          kind={field.kind === 'merchant' ? 'merchants' : 'stores'}
          value={draftText(value)}
          onChange={onChange}
        />
      );
    case 'choice':
    case 'country':
    case 'zone':
    case 'link':
      return <Choice {...props} />;
    default:
      return <Text {...props} />;
  }
}

function OnOff(props: FieldInputProps) {
  const { field, value, onChange } = props;
  const { label, description, error } = commonProps(props);
  const Input = field.kind === 'switch' ? Switch : Checkbox;
  return (
    <Input
      label={label}
      description={description}
      error={error}
      className={field.kind === 'switch' ? 'sy-form-switch' : undefined}
      checked={value === true}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
  );
}

function Text(props: FieldInputProps) {
  const { field, value, isFirst = false, onChange } = props;
  const isNumber = field.kind === 'number';
  return (
    <TextInput
      {...commonProps(props)}
      type={isNumber ? 'text' : field.kind}
      inputMode={isNumber ? 'numeric' : undefined}
      autoComplete="off"
      maxLength={field.max ?? (isNumber ? longestNumber : undefined)}
      data-autofocus={isFirst || undefined}
      value={draftText(value)}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function TextArea(props: FieldInputProps) {
  const { field, value, onChange } = props;
  const texts = useTranslate('components');
  const common = commonProps(props);
  const isJson = field.kind === 'json';
  return (
    <Textarea
      {...common}
      error={isInvalidJson(field, value) ? texts('form.noJson') : common.error}
      autosize
      minRows={field.rows ?? (isJson ? 3 : 2)}
      maxRows={isJson ? 20 : 8}
      maxLength={field.max}
      spellCheck={field.kind === 'paragraph'}
      classNames={isJson ? { input: 'sy-mono' } : {}}
      value={draftText(value)}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** All options with a hint for each. */
function OptionList(props: FieldInputProps) {
  const { field, t, value, onChange } = props;
  const { label, error } = commonProps(props);
  const isRadio = field.kind === 'radio';
  const Input = isRadio ? Radio : Checkbox;
  const inputs = (
    <div className="sy-field-options">
      {(field.options ?? []).map((each) => (
        <Input
          key={String(each)}
          value={String(each)}
          label={t(`options.${each}`)}
          description={t(`optionHints.${each}`)}
        />
      ))}
    </div>
  );
  return isRadio ? (
    <Radio.Group label={label} error={error} value={draftText(value)} onChange={onChange}>
      {inputs}
    </Radio.Group>
  ) : (
    <Checkbox.Group label={label} error={error} value={draftList(value)} onChange={onChange}>
      {inputs}
    </Checkbox.Group>
  );
}

function ListInput(props: FieldInputProps) {
  const { field, t, value, onChange } = props;
  const { max, maxItems = Number.POSITIVE_INFINITY } = field;
  const data = optionsOf(field, t);
  const common = { ...commonProps(props), data, value: draftList(value), onChange };
  if (field.kind === 'choices') {
    return (
      <MultiSelect
        {...common}
        searchable={field.isSearchable === true || data.length > shortList}
        hidePickedOptions={data.some((each) => 'group' in each)}
        maxDropdownHeight={260}
        maxValues={maxItems}
      />
    );
  }
  return (
    <TagsInput
      {...common}
      maxLength={max}
      maxTags={maxItems}
      // Codes contain no spaces.
      splitChars={max === undefined ? [','] : [',', ' ', ';']}
      acceptValueOnBlur
    />
  );
}

function useChoices(field: Field, t: Translate) {
  const language = useLanguage();
  // An organisation has few acquirer links, so one page contains all of them.
  const links = useEntityNames('acquirer-links', field.kind === 'link').data;
  if (field.kind === 'country') return countryNames(language);
  if (field.kind === 'zone') return timeZones().map((zone) => ({ value: zone, label: zone }));
  if (field.kind === 'link') return [...(links ?? [])].map(([value, label]) => ({ value, label }));
  return optionsOf(field, t);
}

function Choice(props: FieldInputProps) {
  const { field, t, value, onChange } = props;
  const data = useChoices(field, t);
  const isClearable = field.isRequired !== true && field.isAlwaysSet !== true;
  return (
    <Select
      {...commonProps(props)}
      data={data}
      limit={100}
      searchable={field.kind === 'link' || field.isSearchable === true || data.length > shortList}
      clearable={isClearable}
      allowDeselect={isClearable}
      value={draftText(value) === '' ? null : draftText(value)}
      onChange={(next) => onChange(next ?? '')}
    />
  );
}

const labelsMost = 20;

function LabelsField({
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
