/** The list of event types with description, schema and example. */
import { EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { familyPattern } from '../webhooks/event-patterns.ts';
import { useEventTypes } from '../webhooks/webhook-queries.ts';
import { ConsoleTabs } from './console-tabs.tsx';
import { InlineDescription } from './inline-description.tsx';
import { type Schema, SchemaTree } from './schema-tree.tsx';
import './api-console.css';

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
      <ConsoleTabs at="events" />
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
