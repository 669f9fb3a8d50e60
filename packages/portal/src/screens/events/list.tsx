/** The list of events of the organisation, newest first. */
import { Button } from '@mantine/core';
import type { FeedItem } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { Page } from '../../components/layout/page.tsx';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { nameOptions, plainOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Formats } from '../../session/locale-formats.ts';
import { useFormats } from '../../session/use-session.ts';
import { nameColumn, numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { patternGroups } from '../webhooks/event-patterns.ts';
import { useEventTypes } from '../webhooks/webhook-queries.ts';
import { eventSummary, feedUrl, readNewestEvents } from './read-events.ts';

const columnsOf = (t: Translate, formats: Formats): Column<FeedItem>[] => [
  { header: t('type'), width: '17rem', cardPosition: 'lead', cell: ({ type }) => type },
  textColumn(t('gist'), (item) => eventSummary(item, formats.money), 'sub'),
  {
    ...nameColumn(t('merchant'), 'merchants', ({ data: { merchantId } }) =>
      typeof merchantId === 'string' ? merchantId : undefined,
    ),
    width: '12rem',
  },
  numberColumn(t('position'), '7rem', ({ position }) => position, 'trail'),
  timeColumn(t('at'), ({ timestamp }) => timestamp, 'subtrail'),
];

export default function Events() {
  const t = useTranslate('events');
  const formats = useFormats();
  const types = useEventTypes().data?.items.map(({ type }) => type) ?? [];
  const merchants = useEntityNames('merchants').data;
  const merchant = {
    kind: 'choice',
    name: 'merchantId',
    label: t('merchant'),
    options: nameOptions(merchants),
  } as const;
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
      <ResourceList
        label={t('title')}
        name="events"
        path={feedUrl}
        read={readNewestEvents}
        filters={[
          {
            kind: 'choices',
            name: 'types',
            label: t('type'),
            options: plainOptions(patternGroups(types).flatMap(({ items }) => items)),
          },
          ...(merchants === undefined ? [] : [merchant]),
        ]}
        views="events"
        columns={columnsOf(t, formats)}
        rowKey={({ eventId }) => eventId}
        rowTo={({ position }) => `/events/${position}`}
        empty={{ icon: 'events', title: t('empty.title'), text: t('empty.text') }}
      />
    </Page>
  );
}
