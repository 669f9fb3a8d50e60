/** The page of a delivery: request, attempts and resend. */
import { Button } from '@mantine/core';
import type { WebhookDeliveryDetail } from '@switchyard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import {
  DescriptionList,
  EmptyState,
  Loading,
  Page,
  Panel,
} from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { CodeBlock, indentJson } from '../../components/values/code-block.tsx';
import { CopyableText } from '../../components/values/copy-text.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { AttemptText, type DeliveryAttempt, DeliveryBadge } from './delivery-badges.tsx';
import { deliveriesUrl, useEndpoints } from './webhook-queries.ts';
import './webhooks.css';

const askAgainMs = 1_500;

export default function Delivery() {
  const t = useTranslate('webhooks');
  const deliveryId = usePathParam('deliveryId');
  const mayWrite = useHasPermission('hook.write');
  const { data, error, refetch } = useQuery({
    queryKey: ['delivery', deliveryId],
    queryFn: ({ signal }) =>
      api.get<WebhookDeliveryDetail>(`${deliveriesUrl}/${deliveryId}`, {
        signal,
        isBackground: true,
      }),
    refetchInterval: ({ state }) => (state.data?.status === 'Pending' ? askAgainMs : false),
  });
  const backLink = { to: '/webhooks/deliveries', label: t('deliveries.title') };
  if (data === undefined) {
    return (
      <Page title={t('delivery')} backLink={backLink}>
        {error === null ? (
          <Loading lines={8} />
        ) : (
          <ErrorMessage fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={data.type}
      aside={<DeliveryBadge status={data.status} />}
      backLink={backLink}
      {...(mayWrite ? { actions: <Resend delivery={data} /> } : {})}
    >
      {error !== null && <ErrorMessage fault={error} />}
      <About delivery={data} />
      <div className="sy-hook-columns">
        <Sent delivery={data} />
        <Attempts log={data.log} />
      </div>
    </Page>
  );
}

function About({ delivery }: { readonly delivery: WebhookDeliveryDetail }) {
  const t = useTranslate('webhooks');
  const { endpointId, eventId, deliveryId, position, createdAt, nextAttemptAt } = delivery;
  const url = useEndpoints().data?.items.find((each) => each.endpointId === endpointId)?.url;
  return (
    <Panel>
      <DescriptionList
        items={[
          [
            t('endpoint'),
            <Link key="endpoint" to={`/webhooks/${endpointId}`} className="sy-hook-link sy-broken">
              {url ?? endpointId}
            </Link>,
          ],
          [
            t('event'),
            position === undefined ? (
              <CopyableText key="event" text={eventId} label={t('event')} />
            ) : (
              <Link key="event" to={`/events/${position}`} className="sy-hook-link sy-broken">
                {eventId}
              </Link>
            ),
          ],
          [t('created'), <DateTime key="created" at={createdAt} />],
          [
            t('next'),
            nextAttemptAt === undefined ? undefined : <DateTime key="n" at={nextAttemptAt} />,
          ],
          [t('identifier'), <CopyableText key="id" text={deliveryId} label={t('identifier')} />],
        ]}
      />
    </Panel>
  );
}

function Sent({ delivery: { body, eventId } }: { readonly delivery: WebhookDeliveryDetail }) {
  const t = useTranslate('webhooks');
  const headers = [
    'POST',
    'content-type: application/json',
    `webhook-id: ${eventId}`,
    `webhook-timestamp: ${t('sent.time')}`,
    'webhook-signature: v1,… v1a,…',
  ].join('\n');
  return (
    <Panel title={t('sent.title')}>
      <div className="sy-hook-sent">
        <CodeBlock text={headers} label={t('sent.headers')} />
        {body === undefined ? (
          <p className="sy-hook-hint">{t('sent.forgotten')}</p>
        ) : (
          <CodeBlock text={indentJson(body)} label={t('sent.body')} isTall />
        )}
      </div>
    </Panel>
  );
}

/** The newest attempt first. */
function Attempts({ log }: { readonly log: readonly DeliveryAttempt[] }) {
  const t = useTranslate('webhooks');
  if (log.length === 0) {
    return (
      <Panel title={t('attempts')}>
        <EmptyState icon="clock" title={t('noAttempts')} />
      </Panel>
    );
  }
  return (
    <Panel title={t('attempts')} flush>
      <ol className="sy-hook-log" reversed>
        {log.toReversed().map((attempt) => (
          <li key={attempt.at}>
            <div className="sy-hook-log-head">
              <AttemptText attempt={attempt} />
              <DateTime at={attempt.at} exact />
            </div>
            {attempt.answer !== undefined && attempt.answer !== '' && (
              <CodeBlock text={indentJson(attempt.answer)} label={t('answer')} />
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Resend({ delivery: { deliveryId, type } }: { readonly delivery: WebhookDeliveryDetail }) {
  const t = useTranslate('webhooks');
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button leftSection={<Icon name="refresh" size={15} />} onClick={() => setAsking(true)}>
        {t('resend.do')}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t('resend.title')}
        confirm={t('resend.do')}
        run={(idempotencyKey) =>
          api.post(`${deliveriesUrl}/${deliveryId}/resend`, { body: {}, idempotencyKey })
        }
        onDone={() => {
          setAsking(false);
          showToast(t('resend.done'));
          discardLists('["deliveries"');
          void client.invalidateQueries({ queryKey: ['delivery', deliveryId] });
          void client.invalidateQueries({ queryKey: ['recent-deliveries'] });
        }}
      >
        <p className="sy-dialogue-text">{t('resend.text', { type })}</p>
      </ConfirmDialog>
    </>
  );
}
