/** Renders a form from the JSON Schema that a provider declares for its parameters. */
import {
  Checkbox,
  Fieldset,
  NumberInput,
  PasswordInput,
  Radio,
  Select,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslate } from '../../locales/index.ts';
import {
  type FieldKind,
  type FormValues,
  fieldLabel,
  firstExample,
  type JsonSchema,
  objectOrEmpty,
  type SchemaField,
  schemaFields,
  textOrEmpty,
  withFieldValue,
} from './schema-fields.ts';
import './schema-form.css';

export type SchemaFormProps = {
  readonly schema: JsonSchema | undefined;
  readonly values: FormValues;
  readonly onChange: (values: FormValues) => void;
  /** Error texts by field path, from `errorsByField`. */
  readonly faults?: Readonly<Record<string, string>>;
  /** The path of the object in the request body: `parameters`. */
  readonly path: string;
  /** Unset values are inherited, so a boolean has three choices: inherit, yes, no. */
  readonly isInheriting?: boolean;
  /** JSON Pointers of stored secrets; an empty field keeps the stored secret. */
  readonly storedSecrets?: readonly string[];
};

export function SchemaForm(props: SchemaFormProps) {
  const {
    schema,
    values,
    onChange,
    faults = {},
    path,
    storedSecrets = [],
    isInheriting = false,
  } = props;
  const fields = schemaFields(schema);
  return (
    <div className="sy-schema-form">
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name]}
          faults={faults}
          path={`${path}.${field.name}`}
          storedSecrets={storedSecrets}
          isInheriting={isInheriting}
          onChange={(value) => onChange(withFieldValue(values, field.name, value))}
        />
      ))}
    </div>
  );
}

type FieldProps = {
  readonly field: SchemaField;
  readonly value: unknown;
  readonly faults: Readonly<Record<string, string>>;
  readonly path: string;
  readonly storedSecrets: readonly string[];
  readonly isInheriting: boolean;
  readonly onChange: (value: unknown) => void;
};

type Shared = {
  readonly label: string;
  readonly description: string | undefined;
  readonly required: boolean;
  readonly error: string | undefined;
  readonly placeholder: string | undefined;
};

const fieldRenderers: Readonly<
  Record<FieldKind, (props: FieldProps, shared: Shared) => ReactNode>
> = {
  secret: (props, shared) => <Secret {...props} shared={shared} />,
  json: (props, shared) => <JsonField {...props} shared={shared} />,
  group: (props, shared) => <Group {...props} shared={shared} />,
  text: ({ value, onChange, field }, shared) => (
    <TextInput
      {...shared}
      autoComplete="off"
      maxLength={Number(field.part['maxLength'] ?? 4_000)}
      value={textOrEmpty(value)}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  ),
  choice: ({ value, onChange, field }, shared) => (
    <Select
      {...shared}
      data={(field.part['enum'] as unknown[]).map(String)}
      clearable={!field.isRequired}
      value={typeof value === 'string' ? value : null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
    />
  ),
  number: ({ value, onChange, field }, shared) => (
    <NumberInput
      {...shared}
      allowDecimal={field.part['type'] === 'number'}
      value={typeof value === 'number' ? value : ''}
      onChange={(typed) => onChange(typeof typed === 'number' ? typed : undefined)}
    />
  ),
  switch: ({ value, onChange, isInheriting }, { label, description, error }) =>
    isInheriting ? (
      <YesOrNo
        label={label}
        description={description}
        error={error}
        value={value}
        onChange={onChange}
      />
    ) : (
      <Checkbox
        label={label}
        description={description}
        error={error}
        checked={value === true}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    ),
  texts: ({ value, onChange }, shared) => (
    <TagsInput
      {...shared}
      value={Array.isArray(value) ? value.map(String) : []}
      onChange={onChange}
    />
  ),
};

function Field(props: FieldProps) {
  const { field, faults, path } = props;
  const { part, kind, isRequired } = field;
  const description = part['description'];
  const shared: Shared = {
    label: fieldLabel(field.name, part),
    description: typeof description === 'string' ? description : undefined,
    required: isRequired,
    error: faults[path],
    placeholder: firstExample(part),
  };
  return fieldRenderers[kind](props, shared);
}

const answers = { inherit: undefined, yes: true, no: false } as const;

/** Three choices, because an unchecked box cannot tell "no" from "inherit". */
function YesOrNo({
  value,
  onChange,
  ...shared
}: Pick<Shared, 'label' | 'description' | 'error'> & Pick<FieldProps, 'value' | 'onChange'>) {
  const t = useTranslate('schema-form');
  const choice = value === true ? 'yes' : 'no';
  return (
    <Radio.Group
      {...shared}
      value={value === undefined ? 'inherit' : choice}
      onChange={(next) => onChange(answers[next as keyof typeof answers])}
    >
      <div className="sy-schema-answers">
        {Object.keys(answers).map((each) => (
          <Radio key={each} value={each} label={t(`answers.${each}`)} />
        ))}
      </div>
    </Radio.Group>
  );
}

function Secret({
  value,
  onChange,
  path,
  storedSecrets,
  shared,
}: FieldProps & { readonly shared: Shared }) {
  const t = useTranslate('schema-form');
  const pointer = `/${path.split('.').slice(1).join('/')}`;
  return (
    <PasswordInput
      {...shared}
      autoComplete="new-password"
      visibilityToggleButtonProps={{ 'aria-label': t('show') }}
      placeholder={storedSecrets.includes(pointer) ? t('kept') : shared.placeholder}
      value={textOrEmpty(value)}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function Group({
  field,
  value,
  onChange,
  path,
  storedSecrets,
  faults,
  isInheriting,
  shared,
}: FieldProps & { readonly shared: Shared }) {
  return (
    <Fieldset legend={shared.label} className="sy-schema-group">
      {shared.description !== undefined && <p>{shared.description}</p>}
      <SchemaForm
        schema={field.part}
        values={objectOrEmpty(value)}
        onChange={onChange}
        faults={faults}
        path={path}
        storedSecrets={storedSecrets}
        isInheriting={isInheriting}
      />
    </Fieldset>
  );
}

/** Lists of objects and maps are edited as JSON. The platform rejects invalid text. */
function JsonField({ value, onChange, shared }: FieldProps & { readonly shared: Shared }) {
  const t = useTranslate('schema-form');
  const [text, setText] = useState(
    value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  );
  const [isBad, setBad] = useState(false);
  function changeText(next: string): void {
    setText(next);
    try {
      onChange(next.trim() === '' ? undefined : JSON.parse(next));
      setBad(false);
    } catch {
      onChange(next);
      setBad(true);
    }
  }
  return (
    <Textarea
      {...shared}
      error={isBad ? t('noJson') : shared.error}
      autosize
      minRows={3}
      maxRows={16}
      spellCheck={false}
      classNames={{ input: 'sy-mono' }}
      value={text}
      onChange={({ currentTarget }) => changeText(currentTarget.value)}
    />
  );
}
