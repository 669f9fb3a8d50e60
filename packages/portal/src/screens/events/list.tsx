/** What has happened in the organisation, as programs are told of it: the newest first. */
import { Button } from '@mantine/core';
import type { FeedItem } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { EntityName, useNames } from '../../components/values/entity-name.tsx';
import { Name, Time } from '../../components/values/values.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Formats } from '../../session/locale-formats.ts';
import { useFormats } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import { patternGroups } from '../webhooks/event-patterns.ts';
import { useEventTypes } from '../webhooks/webhook-queries.ts';
import { gistOf, readBack } from './read-events.ts';

const filterNames = ['types', 'merchantId'] as const;

function columnsOf(t: Translate, formats: Formats): Column<FeedItem>[] {
  return [
    { id: 'type', header: t('type'), width: '17rem', narrow: 'lead', cell: ({ type }) => type },
    {
      id: 'gist',
      header: t('gist'),
      narrow: 'sub',
      cell: (item) => <Name>{gistOf(item, formats.money)}</Name>,
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
      narrow: 'trail',
      cell: ({ position }) => String(position),
    },
    {
      id: 'at',
      header: t('at'),
      width: '10.5rem',
      narrow: 'subtrail',
      cell: ({ timestamp }) => <Time at={timestamp} />,
    },
  ];
}

export default function Events() {
  const t = useTranslate('events');
  const formats = useFormats();
  const [values, change] = useFilters(filterNames);
  const types = useEventTypes().data?.items.map(({ type }) => type) ?? [];
  const merchants = useNames('merchants').data;
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
        read={(cursor, signal) => readBack(values, cursor, signal)}
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
