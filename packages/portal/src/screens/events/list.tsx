/** The list of events of the organisation, newest first. */
import { Button } from '@mantine/core';
import type { FeedItem } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { EntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Formats } from '../../session/locale-formats.ts';
import { useFormats } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import { patternGroups } from '../webhooks/event-patterns.ts';
import { useEventTypes } from '../webhooks/webhook-queries.ts';
import { eventSummary, readNewestEvents } from './read-events.ts';

const filterNames = ['types', 'merchantId'] as const;

function columnsOf(t: Translate, formats: Formats): Column<FeedItem>[] {
  return [
    {
      id: 'type',
      header: t('type'),
      width: '17rem',
      cardPosition: 'lead',
      cell: ({ type }) => type,
    },
    {
      id: 'gist',
      header: t('gist'),
      cardPosition: 'sub',
      cell: (item) => <TruncatedName>{eventSummary(item, formats.money)}</TruncatedName>,
    },
    {
      id: 'merchant',
      header: t('merchant'),
      width: '12rem',
      cell: ({ data: { merchantId } }) => (
        <EntityName kind="merchants" id={typeof merchantId === 'string' ? merchantId : undefined} />
      ),
    },
    {
      id: 'position',
      header: t('position'),
      width: '7rem',
      align: 'end',
      cardPosition: 'trail',
      cell: ({ position }) => String(position),
    },
    {
      id: 'at',
      header: t('at'),
      width: '10.5rem',
      cardPosition: 'subtrail',
      cell: ({ timestamp }) => <DateTime at={timestamp} />,
    },
  ];
}

export default function Events() {
  const t = useTranslate('events');
  const formats = useFormats();
  const [values, change] = useFilters(filterNames);
  const types = useEventTypes().data?.items.map(({ type }) => type) ?? [];
  const merchants = useEntityNames('merchants').data;
  return (
    <Page
      title={t('title')}
      lead={t('lead')}
      actions={
        <Button component={Link} to="/console/events" variant="default">
          {t('types')}
        </Button>
      }
      fill
    >
      <FilterBar
        fields={[
          {
            kind: 'choices',
            name: 'types',
            label: t('type'),
            options: patternGroups(types)
              .flatMap(({ items }) => items)
              .map((value) => ({ value, label: value })),
          },
          ...(merchants === undefined
            ? []
            : [
                {
                  kind: 'choice',
                  name: 'merchantId',
                  label: t('merchant'),
                  options: [...merchants].map(([value, label]) => ({ value, label })),
                } as const,
              ]),
        ]}
        values={values}
        onChange={change}
        views="events"
      />
      <DataTable
        label={t('title')}
        listKey={['events', values]}
        read={(cursor, signal) => readNewestEvents(values, cursor, signal)}
        columns={columnsOf(t, formats)}
        rowKey={({ eventId }) => eventId}
        rowTo={({ position }) => `/events/${position}`}
        empty={
          <EmptyState icon="events" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
    </Page>
  );
}
