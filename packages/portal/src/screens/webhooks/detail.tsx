/** The page of a webhook endpoint: events, status, keys and latest deliveries. */
import type { WebhookEndpoint } from '@switchyard/contract';
import { usePathParam } from '../../app/url-params.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { copyItem, nameItem, timeItem } from '../../components/values/description-items.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { EndpointActions } from './endpoint-actions.tsx';
import { EndpointBadge } from './endpoint-badge.tsx';
import { endpointStatus } from './endpoint-status.ts';
import { eventTypesText } from './list.tsx';
import { RecentDeliveries } from './recent-deliveries.tsx';
import { useEndpoint } from './webhook-queries.ts';
import './webhooks.css';

export default function EndpointDetail() {
  const t = useTranslate('webhooks');
  const endpointId = usePathParam('endpointId');
  const mayWrite = useHasPermission('hook.write');
  const query = useEndpoint(endpointId);
  const { data, error } = query;
  const backLink = { to: '/webhooks', label: t('title') };
  if (data === undefined)
    return <PendingPage query={query} title={t('endpoint')} backLink={backLink} />;
  const { body: endpoint } = data;
  return (
    <Page
      title={endpoint.url}
      aside={<EndpointBadge endpoint={endpoint} />}
      lead={endpoint.description}
      backLink={backLink}
      actions={mayWrite && <EndpointActions loaded={data} />}
    >
      {error !== null && <ErrorMessage fault={error} />}
      <StatusNote endpoint={endpoint} />
      <div className="sy-hook-columns">
        <About endpoint={endpoint} />
        <Keys endpoint={endpoint} />
      </div>
      <RecentDeliveries endpointId={endpointId} />
    </Page>
  );
}

/** Explains why the platform sends nothing, and what to do. */
function StatusNote({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const t = useTranslate('webhooks');
  const values = useValues(endpoint);
  const status = endpointStatus(endpoint);
  if (status === 'Working') return null;
  return (
    <Note icon="alert" tone="warn">
      {t(`standingTexts.${status}`, values)}
    </Note>
  );
}

function useValues({ health, disabledAt }: WebhookEndpoint) {
  const formats = useFormats();
  const time = (at: string | undefined) => (at === undefined ? '–' : formats.time(at));
  return {
    since: time(disabledAt ?? health?.failingSince),
    until: time(health?.restingUntil),
    failures: formats.number(health?.failures ?? 0),
  };
}

function About({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  const { endpointId, eventTypes, merchantId, health, createdAt } = endpoint;
  return (
    <Panel title={t('panels.about')}>
      <DescriptionList
        items={[
          [t('fields.eventTypes'), eventTypesText(eventTypes, t)],
          merchantId === undefined
            ? [t('fields.merchantId'), t('allMerchants')]
            : nameItem(t('fields.merchantId'), 'merchants', merchantId),
          [t('succeeded'), <DateTime key="succeeded" at={health?.succeededAt} />],
          [t('failures'), formats.number(health?.failures ?? 0)],
          timeItem(t('created'), createdAt),
          copyItem(t('identifier'), endpointId),
        ]}
      />
    </Panel>
  );
}

function Keys({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const t = useTranslate('webhooks');
  const { publicKey, previousPublicKey, previousUntil, verifiedAt } = endpoint;
  return (
    <Panel title={t('panels.keys')}>
      <DescriptionList
        items={[
          copyItem(t('publicKey'), publicKey),
          copyItem(t('previousKey'), previousPublicKey),
          timeItem(t('previousUntil'), previousUntil),
          timeItem(t('verified'), verifiedAt),
        ]}
      />
      <p className="sy-hook-hint">{t('keysHint')}</p>
    </Panel>
  );
}
