/** The state of a form that is described as data, and its inputs. */
import { type ComponentType, useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import type { Translate } from '../../locales/index.ts';
import { Panel } from '../layout/page.tsx';
import { FieldInput } from './field-input.tsx';
import {
  type Body,
  type Draft,
  type Field,
  fieldError,
  formDraft,
  inlineErrors,
  isComplete,
  requestBody,
  type Section,
  sectionFields,
} from './form-fields.ts';
import './fields.css';

export type Form = {
  readonly draft: Draft;
  readonly fields: readonly Field[];
  readonly isEdit: boolean;
  readonly change: (values: Draft) => void;
  readonly errorOf: (name: string) => string | undefined;
  /** The last error of the request. */
  readonly fault: unknown;
  readonly body: Body;
  /** For `ConfirmDialog` and `PageForm`. */
  readonly confirmProps: {
    readonly isDisabled: boolean;
    readonly inlineErrorFields: readonly string[];
    readonly onFault: (fault: unknown) => void;
  };
};

type FormOptions = {
  /** The entity to edit; omitted for a new entity. */
  readonly before?: Body | undefined;
  /** The members that the request contains besides the fields; default: those of `before`. */
  readonly unchanged?: Body | undefined;
  /** Initial values of a new entity. */
  readonly preset?: Draft | undefined;
};

/** @param fieldsFor the fields, which may depend on entered values */
export function useForm(
  fieldsFor: (draft: Draft) => readonly Field[],
  { before, unchanged = before, preset = {} }: FormOptions = {},
): Form {
  const [entered, setEntered] = useState<Draft>(preset);
  const [fault, setFault] = useState<unknown>(undefined);
  // Fields that a value brings in start with their initial values.
  const draft = { ...formDraft(fieldsFor(entered), before), ...entered };
  const fields = fieldsFor(draft);
  const errors = errorsByField(fault);
  return {
    draft,
    fields,
    fault,
    isEdit: before !== undefined,
    change: (values) => setEntered((now) => ({ ...now, ...values })),
    errorOf: (name) => fieldError(errors, name),
    body: requestBody(fields, draft, unchanged),
    confirmProps: {
      isDisabled: !isComplete(fields, draft),
      inlineErrorFields: inlineErrors(errors, fields),
      onFault: setFault,
    },
  };
}

export type CustomInputProps = { readonly form: Form; readonly field: Field };

/** Own inputs of a form, by the name of the field. */
export type CustomInputs = Readonly<Record<string, ComponentType<CustomInputProps>>>;

type InputsProps = {
  readonly form: Form;
  /** Translates `fields.{name}`, `hints.{name}`, `options.{value}` and `sections.{name}`. */
  readonly t: Translate;
  readonly customInputs?: CustomInputs | undefined;
};

export function FormInputs({
  form,
  t,
  customInputs = {},
  fields = form.fields,
  hasFocus = true,
  hasHintBelow = false,
}: InputsProps & {
  /** Only these fields of the form. */
  readonly fields?: readonly Field[];
  /** The first input gets the focus. */
  readonly hasFocus?: boolean;
  readonly hasHintBelow?: boolean;
}) {
  const visibleFields = fields.filter(({ isHidden }) => isHidden !== true);
  return visibleFields.map((field, at) => {
    const Custom = customInputs[field.name];
    if (Custom !== undefined) return <Custom key={field.name} form={form} field={field} />;
    return (
      <FieldInput
        key={field.name}
        field={field}
        t={t}
        value={form.draft[field.name] ?? ''}
        error={form.errorOf(field.name)}
        isEdit={form.isEdit}
        isFirst={hasFocus && at === 0}
        hasHintBelow={hasHintBelow}
        onChange={(value) => form.change({ [field.name]: value })}
      />
    );
  });
}

/** Each section as a panel; in two columns, the second has all sections but the first. */
export function FormSections({
  sections,
  isTwoColumns = false,
  ...props
}: InputsProps & { readonly sections: readonly Section[]; readonly isTwoColumns?: boolean }) {
  const grid = isTwoColumns ? 'sy-fields' : 'sy-form-grid';
  const panels = sections.map((section, at) => (
    <Panel key={section.labelKey} title={props.t(`sections.${section.labelKey}`)}>
      <div
        className={
          sectionFields([section]).some(({ kind }) => kind === 'labels') ? undefined : grid
        }
      >
        <FormInputs
          {...props}
          fields={section.fields}
          hasFocus={at === 0}
          hasHintBelow={!isTwoColumns}
        />
      </div>
    </Panel>
  ));
  if (!isTwoColumns) return panels;
  return (
    <div className="sy-form-columns">
      {panels[0]}
      <div className="sy-form-column">{panels.slice(1)}</div>
    </div>
  );
}
