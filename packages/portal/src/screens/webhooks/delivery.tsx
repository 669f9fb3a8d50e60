/** One delivery: the bytes that are sent, each try with its answer, and sending it once more. */
import { Button } from '@mantine/core';
import type { WebhookDeliveryDetail } from '@switchyard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useParam } from '../../app/url-params.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { Problem } from '../../components/layout/error-message.tsx';
import { EmptyState, Facts, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { CodeBlock, readable } from '../../components/values/code-block.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { Time } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { type Attempt, AttemptText, DeliveryBadge } from './delivery-badges.tsx';
import { deliveriesAddress, useEndpoints } from './webhook-queries.ts';
import './webhooks.css';

const askAgainMs = 1_500;

export default function Delivery() {
  const t = useTranslate('webhooks');
  const deliveryId = useParam('deliveryId');
  const mayWrite = useCan('hook.write');
  const { data, error, refetch } = useQuery({
    queryKey: ['delivery', deliveryId],
    queryFn: ({ signal }) =>
      api.get<WebhookDeliveryDetail>(`${deliveriesAddress}/${deliveryId}`, {
        signal,
        isBackground: true,
      }),
    refetchInterval: ({ state }) => (state.data?.status === 'Pending' ? askAgainMs : false),
  });
  const back = { to: '/webhooks/deliveries', label: t('deliveries.title') };
  if (data === undefined) {
    return (
      <Page title={t('delivery')} backLink={back}>
        {error === null ? (
          <Loading lines={8} />
        ) : (
          <Problem fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={data.type}
      aside={<DeliveryBadge status={data.status} />}
      backLink={back}
      {...(mayWrite ? { actions: <Resend delivery={data} /> } : {})}
    >
      {error !== null && <Problem fault={error} />}
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
      <Facts
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
              <CopyText key="event" text={eventId} label={t('event')} />
            ) : (
              <Link key="event" to={`/events/${position}`} className="sy-hook-link sy-broken">
                {eventId}
              </Link>
            ),
          ],
          [t('created'), <Time key="created" at={createdAt} />],
          [
            t('next'),
            nextAttemptAt === undefined ? undefined : <Time key="n" at={nextAttemptAt} />,
          ],
          [t('identifier'), <CopyText key="id" text={deliveryId} label={t('identifier')} />],
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
          <CodeBlock text={readable(body)} label={t('sent.body')} isTall />
        )}
      </div>
    </Panel>
  );
}

/** The newest first: it is what somebody comes for. */
function Attempts({ log }: { readonly log: readonly Attempt[] }) {
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
              <Time at={attempt.at} exact />
            </div>
            {attempt.answer !== undefined && attempt.answer !== '' && (
              <CodeBlock text={readable(attempt.answer)} label={t('answer')} />
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
      <ConfirmAction
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t('resend.title')}
        confirm={t('resend.do')}
        run={(idempotencyKey) =>
          api.post(`${deliveriesAddress}/${deliveryId}/resend`, { body: {}, idempotencyKey })
        }
        onDone={() => {
          setAsking(false);
          notify(t('resend.done'));
          forgetLists('["deliveries"');
          void client.invalidateQueries({ queryKey: ['delivery', deliveryId] });
          void client.invalidateQueries({ queryKey: ['recent-deliveries'] });
        }}
      >
        <p className="sy-dialogue-text">{t('resend.text', { type })}</p>
      </ConfirmAction>
    </>
  );
}
