/** Shows a JSON Schema without references as a tree of fields. */
import { useTranslate } from '../../locales/index.ts';
import { InlineDescription } from './inline-description.tsx';

export type Schema = {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};

function wordOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((each) => String(each)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.items !== undefined) return `${wordOf(schema.items)}[]`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((each) => wordOf(each)).join(' | ');
  const type = [schema.type ?? []].flat().join(' | ');
  return schema.format === undefined ? type || 'any' : `${type} (${schema.format})`;
}

function limitsOf({ minimum, maximum, minLength, maxLength, pattern }: Schema): string {
  const range = (least: number | undefined, most: number | undefined, unit: string) =>
    least === undefined && most === undefined ? [] : [`${least ?? ''}…${most ?? ''}${unit}`];
  return [
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' chars'),
    ...(pattern === undefined ? [] : [pattern]),
  ].join(' · ');
}

type Member = { readonly name: string; readonly schema: Schema; readonly isRequired: boolean };

/** The members of the schema, of all its parts, and of the items of a list. */
function membersOf({ properties = {}, required = [], ...schema }: Schema): Member[] {
  const members = Object.entries(properties).map(([name, member]) => ({
    name,
    schema: member,
    isRequired: required.includes(name),
  }));
  const { allOf = [], anyOf = [], oneOf = [], items = {} } = schema;
  const below = [...allOf, ...anyOf, ...oneOf].flatMap(membersOf);
  const ofItems = schema.items === undefined ? [] : membersOf(items);
  const all = [...members, ...below, ...ofItems];
  return [...new Map(all.map((member) => [member.name, member])).values()];
}

export function SchemaTree({ schema }: { readonly schema: Schema }) {
  const members = membersOf(schema);
  if (members.length === 0) {
    return <p className="sy-ref-word sy-mono sy-broken">{wordOf(schema)}</p>;
  }
  return (
    <ul className="sy-ref-tree">
      {members.map((member) => (
        <li key={member.name}>
          <MemberLine member={member} />
          <Below member={member} />
        </li>
      ))}
    </ul>
  );
}

function MemberLine({ member: { name, schema, isRequired } }: { readonly member: Member }) {
  const t = useTranslate('api-console');
  const limits = limitsOf(schema);
  return (
    <div className="sy-ref-member">
      <code>{name}</code>
      <span className="sy-ref-word sy-broken">{wordOf(schema)}</span>
      {isRequired && <span className="sy-ref-required">{t('required')}</span>}
      {schema.description !== undefined && (
        <p>
          <InlineDescription>{schema.description}</InlineDescription>
        </p>
      )}
      {limits !== '' && <p className="sy-ref-limits sy-mono sy-broken">{limits}</p>}
      {schema.default !== undefined && (
        <p className="sy-ref-limits sy-broken">
          {t('default')} <code>{JSON.stringify(schema.default)}</code>
        </p>
      )}
    </div>
  );
}

function Below({ member: { name, schema } }: { readonly member: Member }) {
  const t = useTranslate('api-console');
  if (membersOf(schema).length === 0) return null;
  return (
    <details className="sy-ref-below">
      <summary>{t('membersOf', { name })}</summary>
      <SchemaTree schema={schema} />
    </details>
  );
}
