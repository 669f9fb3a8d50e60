/** The page of an event: data, related object and deliveries. */
import { Button } from '@mantine/core';
import type { FeedItem, WebhookDelivery } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import {
  DescriptionList,
  EmptyState,
  Loading,
  Page,
  Panel,
} from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { copyItem, nameItem, timeItem } from '../../components/values/description-items.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { DeliveryTable } from '../webhooks/recent-deliveries.tsx';
import { deliveriesUrl, useEventTypes } from '../webhooks/webhook-queries.ts';
import { readEvent, subjectPath } from './read-events.ts';
import '../webhooks/webhooks.css';

const deliveriesMost = 50;

export default function EventDetail() {
  const t = useTranslate('events');
  const position = Number(usePathParam('position'));
  const { data, error, isSuccess, refetch } = useQuery({
    queryKey: ['event', position],
    queryFn: async ({ signal }) => (await readEvent(position, signal)) ?? null,
    enabled: Number.isSafeInteger(position) && position > 0,
  });
  const backLink = { to: '/events', label: t('title') };
  if (data === undefined || data === null) {
    const isThere = Number.isSafeInteger(position) && position > 0 && !isSuccess;
    return (
      <Page title={t('event')} backLink={backLink}>
        {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
        {error === null && isThere && <Loading lines={8} />}
        {error === null && !isThere && (
          <EmptyState icon="events" title={t('gone.title')}>
            {t('gone.text')}
          </EmptyState>
        )}
      </Page>
    );
  }
  return (
    <Page
      title={data.type}
      lead={<Meaning feedItem={data} />}
      backLink={backLink}
      actions={<Ways feedItem={data} />}
    >
      <div className="sy-hook-columns">
        <About item={data} />
        <Deliveries eventId={data.eventId} />
      </div>
      <Panel title={t('says')}>
        <CodeBlock
          text={JSON.stringify(
            { type: data.type, timestamp: data.timestamp, data: data.data },
            undefined,
            2,
          )}
          label={t('says')}
          isTall
        />
      </Panel>
    </Page>
  );
}

function Meaning({ feedItem: { type } }: { readonly feedItem: FeedItem }) {
  const types = useEventTypes().data?.items;
  return types?.find((each) => each.type === type)?.description ?? '';
}

function Ways({ feedItem }: { readonly feedItem: FeedItem }) {
  const t = useTranslate('events');
  const subject = subjectPath(feedItem);
  const maySee = useHasPermission('rep.read', 'pay.read', 'dev.read', 'prov.read');
  return (
    <>
      <Button
        component={Link}
        to={`/events/${feedItem.position - 1}`}
        variant="default"
        aria-label={t('before')}
        disabled={feedItem.position <= 1}
      >
        <Icon name="chevronLeft" size={16} />
      </Button>
      <Button
        component={Link}
        to={`/events/${feedItem.position + 1}`}
        variant="default"
        aria-label={t('after')}
      >
        <Icon name="chevronRight" size={16} />
      </Button>
      {subject !== undefined && maySee && (
        <Button component={Link} to={subject}>
          {t('subject')}
        </Button>
      )}
    </>
  );
}

function About({ item }: { readonly item: FeedItem }) {
  const t = useTranslate('events');
  const { merchantId, sequence } = item.data;
  return (
    <Panel title={t('about')}>
      <DescriptionList
        items={[
          timeItem(t('at'), item.timestamp, true),
          [t('position'), String(item.position)],
          [t('sequence'), typeof sequence === 'number' ? String(sequence) : undefined],
          nameItem(
            t('merchant'),
            'merchants',
            typeof merchantId === 'string' ? merchantId : undefined,
          ),
          copyItem(t('identifier'), item.eventId),
        ]}
      />
    </Panel>
  );
}

function Deliveries({ eventId }: { readonly eventId: string }) {
  const t = useTranslate('events');
  const query = useQuery({
    queryKey: ['event-deliveries', eventId],
    queryFn: ({ signal }) =>
      api.get<{ items: WebhookDelivery[] }>(deliveriesUrl, {
        query: { eventId, limit: deliveriesMost },
        signal,
      }),
  });
  return (
    <Panel title={t('deliveries')} flush>
      <QueryContent query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon="webhooks" title={t('noDeliveries')} />
          ) : (
            <DeliveryTable deliveries={items} />
          )
        }
      </QueryContent>
    </Panel>
  );
}
