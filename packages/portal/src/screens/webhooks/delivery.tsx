/** The page of a delivery: request, attempts and resend. */
import { Button } from '@mantine/core';
import type { WebhookDeliveryDetail } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { DescriptionList, EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { CodeBlock, indentJson } from '../../components/values/code-block.tsx';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { AttemptText, type DeliveryAttempt, DeliveryBadge } from './delivery-badges.tsx';
import { deliveriesUrl, useEndpoints } from './webhook-queries.ts';
import './webhooks.css';

const askAgainMs = 1_500;

export default function Delivery() {
  const t = useTranslate('webhooks');
  const deliveryId = usePathParam('deliveryId');
  const mayWrite = useHasPermission('hook.write');
  const query = useQuery({
    queryKey: ['delivery', deliveryId],
    queryFn: ({ signal }) =>
      api.get<WebhookDeliveryDetail>(`${deliveriesUrl}/${deliveryId}`, {
        signal,
        isBackground: true,
      }),
    refetchInterval: ({ state }) => (state.data?.status === 'Pending' ? askAgainMs : false),
  });
  const { data, error } = query;
  const backLink = { to: '/webhooks/deliveries', label: t('deliveries.title') };
  if (data === undefined)
    return <PendingPage query={query} title={t('delivery')} backLink={backLink} />;
  return (
    <Page
      title={data.type}
      aside={<DeliveryBadge status={data.status} />}
      backLink={backLink}
      actions={mayWrite && <Resend delivery={data} />}
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
          position === undefined
            ? copyItem(t('event'), eventId)
            : [
                t('event'),
                <Link key="event" to={`/events/${position}`} className="sy-hook-link sy-broken">
                  {eventId}
                </Link>,
              ],
          timeItem(t('created'), createdAt),
          timeItem(t('next'), nextAttemptAt),
          copyItem(t('identifier'), deliveryId),
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
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button leftSection={<Icon name="refresh" size={15} />} onClick={() => setAsking(true)}>
        {t('resend.do')}
      </Button>
      {isAsking && (
        <ActionDialog
          t={t}
          action="resend"
          values={{ type }}
          run={(idempotencyKey) =>
            api.post(`${deliveriesUrl}/${deliveryId}/resend`, { body: {}, idempotencyKey })
          }
          onClose={() => setAsking(false)}
          onDone={() => reloadData('deliveries', 'delivery', 'recent-deliveries')}
        />
      )}
    </>
  );
}
