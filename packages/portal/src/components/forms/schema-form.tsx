/** A form made from the schema that a provider declared for the parameters of its service. */
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
  exampleOf,
  type FieldKind,
  type FormValues,
  fieldsOf,
  groupOf,
  labelOf,
  type SchemaField,
  type SchemaPart,
  textOf,
  withMember,
} from './schema-fields.ts';
import './schema-form.css';

export type SchemaFormProps = {
  readonly schema: SchemaPart | undefined;
  readonly values: FormValues;
  readonly onChange: (values: FormValues) => void;
  /** By the path of the member, as `faultsByField` has them. */
  readonly faults?: Readonly<Record<string, string>>;
  /** Of the object in the body that is sent: `parameters`. */
  readonly path: string;
  /** What is not set comes from a level above, so yes and no are two of three. */
  readonly isInheriting?: boolean;
  /** Where secrets are set already, as JSON Pointers: what is left empty stays. */
  readonly storedSecrets?: readonly string[];
};

export function SchemaForm(props: SchemaFormProps) {
  const { schema, values, onChange, faults = {}, path, storedSecrets = [], isInheriting = false } = props;
  const fields = fieldsOf(schema);
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
          onChange={(value) => onChange(withMember(values, field.name, value))}
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

const drawn: Readonly<Record<FieldKind, (props: FieldProps, shared: Shared) => ReactNode>> = {
  secret: (props, shared) => <Secret {...props} shared={shared} />,
  json: (props, shared) => <JsonField {...props} shared={shared} />,
  group: (props, shared) => <Group {...props} shared={shared} />,
  text: ({ value, onChange, field }, shared) => (
    <TextInput
      {...shared}
      autoComplete="off"
      maxLength={Number(field.part['maxLength'] ?? 4_000)}
      value={textOf(value)}
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
    label: labelOf(field.name, part),
    description: typeof description === 'string' ? description : undefined,
    required: isRequired,
    error: faults[path],
    placeholder: exampleOf(part),
  };
  return drawn[kind](props, shared);
}

const answers = { inherit: undefined, yes: true, no: false } as const;

/** A box that is not ticked would be both, a no and nothing at all. */
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

function Secret({ value, onChange, path, storedSecrets, shared }: FieldProps & { readonly shared: Shared }) {
  const t = useTranslate('schema-form');
  const pointer = `/${path.split('.').slice(1).join('/')}`;
  return (
    <PasswordInput
      {...shared}
      autoComplete="new-password"
      visibilityToggleButtonProps={{ 'aria-label': t('show') }}
      placeholder={storedSecrets.includes(pointer) ? t('kept') : shared.placeholder}
      value={textOf(value)}
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
        values={groupOf(value)}
        onChange={onChange}
        faults={faults}
        path={path}
        storedSecrets={storedSecrets}
        isInheriting={isInheriting}
      />
    </Fieldset>
  );
}

/** Lists of objects and maps are typed as they are sent; what is no JSON is sent as it is, and refused. */
function JsonField({ value, onChange, shared }: FieldProps & { readonly shared: Shared }) {
  const t = useTranslate('schema-form');
  const [text, setText] = useState(
    value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  );
  const [isBad, setBad] = useState(false);
  function take(next: string): void {
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
      onChange={({ currentTarget }) => take(currentTarget.value)}
    />
  );
}
