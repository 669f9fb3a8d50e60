/** The inputs of a request: parameters, headers and a body with an example. */
import { Select, Textarea, TextInput } from '@mantine/core';
import { useTranslate } from '../../locales/index.ts';
import {
  exampleBodyText,
  type FilledRequest,
  parameterKey,
  parseHeaderLines,
} from './build-request.ts';
import type { Operation, Parameter, Schema } from './parse-openapi.ts';
import '../../components/forms/fields.css';

type Props = {
  readonly operation: Operation;
  readonly filled: FilledRequest;
  readonly onChange: (filled: FilledRequest) => void;
};

/** The allowed values, if the schema lists them. */
function choicesOf({ enum: words, type }: Schema): readonly string[] | undefined {
  if (words !== undefined) return words.map((each) => String(each));
  return type === 'boolean' ? ['true', 'false'] : undefined;
}

export function RequestFields({ operation, filled, onChange }: Props) {
  const t = useTranslate('api-console');
  const isWrong = parseHeaderLines(filled.headers) === undefined;
  return (
    <div className="sy-fields">
      {operation.parameters
        // The platform sets the request ID itself.
        .filter(({ name }) => name !== 'X-Request-Id')
        .map((parameter) => (
          <ParameterField
            key={parameterKey(parameter)}
            parameter={parameter}
            value={filled.parameters[parameterKey(parameter)] ?? ''}
            onChange={(value) =>
              onChange({
                ...filled,
                parameters: { ...filled.parameters, [parameterKey(parameter)]: value },
              })
            }
          />
        ))}
      {operation.bodies.length > 0 && (
        <BodyFields operation={operation} filled={filled} onChange={onChange} />
      )}
      <Textarea
        label={t('headers')}
        description={t('headersHint')}
        placeholder={'If-Match: "3"'}
        autosize
        minRows={1}
        maxRows={6}
        spellCheck={false}
        value={filled.headers}
        error={isWrong ? t('headersWrong') : undefined}
        onChange={({ currentTarget: { value } }) => onChange({ ...filled, headers: value })}
      />
    </div>
  );
}

function ParameterField({
  parameter: { name, location, isRequired, schema },
  value,
  onChange,
}: {
  readonly parameter: Parameter;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const t = useTranslate('api-console');
  const choices = choicesOf(schema);
  const common = { label: name, description: t(`places.${location}`), required: isRequired };
  if (choices !== undefined) {
    return (
      <Select
        {...common}
        clearable={!isRequired}
        searchable={choices.length > 8}
        data={[...choices]}
        value={value === '' ? null : value}
        onChange={(next) => onChange(next ?? '')}
      />
    );
  }
  const example = schema.examples?.[0];
  return (
    <TextInput
      {...common}
      autoComplete="off"
      spellCheck={false}
      placeholder={example === undefined ? undefined : String(example)}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function BodyFields({ operation: { bodies, isBodyRequired }, filled, onChange }: Props) {
  const t = useTranslate('api-console');
  const body = bodies.find(({ type }) => type === filled.bodyType);
  const examples = (body?.examples ?? []).filter(({ name }) => name !== '');
  return (
    <>
      {bodies.length > 1 && (
        <Select
          label={t('bodyType')}
          allowDeselect={false}
          data={bodies.map(({ type }) => type)}
          value={filled.bodyType}
          onChange={(bodyType) => {
            const next = bodies.find(({ type }) => type === bodyType);
            const example = next?.examples[0];
            onChange({
              ...filled,
              bodyType: bodyType ?? filled.bodyType,
              body: example === undefined ? '' : exampleBodyText(example.value),
            });
          }}
        />
      )}
      {examples.length > 1 && (
        <Select
          label={t('example')}
          data={examples.map(({ name }) => name)}
          placeholder={t('chooseExample')}
          onChange={(chosen) => {
            const example = examples.find(({ name }) => name === chosen);
            if (example !== undefined)
              onChange({ ...filled, body: exampleBodyText(example.value) });
          }}
        />
      )}
      <Textarea
        className="sy-ref-body"
        label={t('body')}
        description={filled.bodyType}
        required={isBodyRequired}
        autosize
        minRows={4}
        maxRows={24}
        spellCheck={false}
        value={filled.body}
        onChange={({ currentTarget: { value } }) => onChange({ ...filled, body: value })}
      />
    </>
  );
}
