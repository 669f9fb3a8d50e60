/** The list of event types with description, schema and example. */
import './api-console.css';
import { EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { familyPattern } from '../webhooks/event-patterns.ts';
import { useEventTypes } from '../webhooks/webhook-queries.ts';
import { ConsoleTabs } from './console-tabs.tsx';

const filterNames = ['text'] as const;

type EventType = NonNullable<ReturnType<typeof useEventTypes>['data']>['items'][number];

export default function EventTypes() {
  const t = useTranslate('api-console');
  const query = useEventTypes();
  const [values, change] = useFilters(filterNames);
  const words = (values.text ?? '').toLowerCase().split(/\s+/);
  const isSought = ({ type, description }: EventType) =>
    words.every((word) => `${type} ${description}`.toLowerCase().includes(word));
  return (
    <Page title={t('title')} lead={t('eventsLead')}>
      <ConsoleTabs />
      <FilterBar
        fields={[{ kind: 'search', name: 'text', label: t('searchEvents') }]}
        values={values}
        onChange={change}
      />
      <QueryContent query={query} lines={14}>
        {({ items }) => <Families items={items.filter(isSought)} />}
      </QueryContent>
    </Page>
  );
}

function Families({ items }: { readonly items: readonly EventType[] }) {
  const t = useTranslate('api-console');
  if (items.length === 0) {
    return (
      <EmptyState icon="search" title={t('none.event')}>
        {t('none.text')}
      </EmptyState>
    );
  }
  return [...Map.groupBy(items, ({ type }) => familyPattern(type))].map(([family, members]) => (
    <Panel key={family} title={family} flush>
      <ul className="sy-ref-codes">
        {members.map((each) => (
          <EventTypeLine key={each.type} eventType={each} />
        ))}
      </ul>
    </Panel>
  ));
}

function EventTypeLine({
  eventType: { type, description, schema, example },
}: {
  readonly eventType: EventType;
}) {
  const t = useTranslate('api-console');
  return (
    <li>
      <div className="sy-ref-code-head">
        <code className="sy-broken">{type}</code>
      </div>
      <p>
        <InlineDescription>{description}</InlineDescription>
      </p>
      <details className="sy-ref-below">
        <summary>{t('whatItSays')}</summary>
        <div className="sy-ref-columns">
          <SchemaTree schema={schema as Schema} />
          <CodeBlock text={JSON.stringify(example, undefined, 2)} label={t('example')} />
        </div>
      </details>
    </li>
  );
}

type Schema = {
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

function SchemaTree({ schema }: { readonly schema: Schema }) {
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

/** Renders one line of a description of the platform, with code in backquotes. */
function InlineDescription({ children }: { readonly children: string }) {
  return children.split('`').map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one sentence, in their order for ever
      <code key={at}>{part}</code>
    ) : (
      part
    ),
  );
}
