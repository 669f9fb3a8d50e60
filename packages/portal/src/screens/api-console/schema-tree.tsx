/** Shows a JSON Schema as a tree of fields. */
import { type Translate, useTranslate } from '../../locales/index.ts';
import { InlineDescription } from './description-text.tsx';
import { nameOfSchema, type OpenApi, resolveSchema, type Schema } from './parse-openapi.ts';

/** The maximum depth for schemas that refer to themselves. */
const deepest = 6;

function wordOf(document: OpenApi, schema: Schema): string {
  const resolved = resolveSchema(document, schema);
  if (resolved.enum !== undefined) return resolved.enum.map((each) => String(each)).join(' | ');
  if (resolved.const !== undefined) return JSON.stringify(resolved.const);
  if (resolved.items !== undefined) return `${wordOf(document, resolved.items)}[]`;
  const choices = resolved.anyOf ?? resolved.oneOf;
  if (choices !== undefined) return choices.map((each) => wordOf(document, each)).join(' | ');
  const type = [resolved.type ?? []].flat().join(' | ');
  return resolved.format === undefined ? type || 'any' : `${type} (${resolved.format})`;
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

/** The members of the schema and of all its `allOf` parts. */
function membersOf(document: OpenApi, schema: Schema): Member[] {
  const resolved = resolveSchema(document, schema);
  const members = Object.entries(resolved.properties ?? {}).map(([name, member]) => ({
    name,
    schema: member,
    isRequired: resolved.required?.includes(name) === true,
  }));
  const parts = [...(resolved.allOf ?? []), ...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])];
  const below = parts.flatMap((part) => membersOf(document, part));
  const items = resolved.items === undefined ? [] : membersOf(document, resolved.items);
  const all = [...members, ...below, ...items];
  return [...new Map(all.map((member) => [member.name, member])).values()];
}

export function SchemaTree({
  document,
  schema,
  depth = 0,
}: {
  readonly document: OpenApi;
  readonly schema: Schema;
  readonly depth?: number;
}) {
  const t = useTranslate('api-console');
  const members = membersOf(document, schema);
  if (members.length === 0) {
    return <p className="sy-ref-word sy-mono sy-broken">{wordOf(document, schema)}</p>;
  }
  return (
    <ul className="sy-ref-tree">
      {members.map((member) => (
        <li key={member.name}>
          <MemberLine document={document} member={member} t={t} />
          {depth < deepest && <Below document={document} member={member} depth={depth} />}
        </li>
      ))}
    </ul>
  );
}

function MemberLine({
  document,
  member: { name, schema, isRequired },
  t,
}: {
  readonly document: OpenApi;
  readonly member: Member;
  readonly t: Translate;
}) {
  const resolved = resolveSchema(document, schema);
  const limits = limitsOf(resolved);
  return (
    <div className="sy-ref-member">
      <code>{name}</code>
      <span className="sy-ref-word sy-broken">{wordOf(document, schema)}</span>
      {isRequired && <span className="sy-ref-required">{t('required')}</span>}
      {resolved.description !== undefined && (
        <p>
          <InlineDescription>{resolved.description}</InlineDescription>
        </p>
      )}
      {limits !== '' && <p className="sy-ref-limits sy-mono sy-broken">{limits}</p>}
      {resolved.default !== undefined && (
        <p className="sy-ref-limits sy-broken">
          {t('default')} <code>{JSON.stringify(resolved.default)}</code>
        </p>
      )}
    </div>
  );
}

function Below({
  document,
  member: { name, schema },
  depth,
}: {
  readonly document: OpenApi;
  readonly member: Member;
  readonly depth: number;
}) {
  const t = useTranslate('api-console');
  if (membersOf(document, schema).length === 0) return null;
  const schemaName = nameOfSchema(schema) ?? nameOfSchema(schema.items);
  return (
    <details className="sy-ref-below">
      <summary>{t('membersOf', { name: schemaName ?? name })}</summary>
      <SchemaTree document={document} schema={schema} depth={depth + 1} />
    </details>
  );
}
