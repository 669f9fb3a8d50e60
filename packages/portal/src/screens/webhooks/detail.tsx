/** The page of a webhook endpoint: events, status, keys and latest deliveries. */
import type { WebhookEndpoint } from '@switchyard/contract';
import { usePathParam } from '../../app/url-params.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { DescriptionList, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { CopyableText } from '../../components/values/copy-text.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
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
  const { data, error, refetch } = useEndpoint(endpointId);
  const backLink = { to: '/webhooks', label: t('title') };
  if (data === undefined) {
    return (
      <Page title={t('endpoint')} backLink={backLink}>
        {error === null ? (
          <Loading lines={8} />
        ) : (
          <ErrorMessage fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  const { endpoint } = data;
  return (
    <Page
      title={endpoint.url}
      aside={<EndpointBadge endpoint={endpoint} />}
      lead={endpoint.description}
      backLink={backLink}
      {...(mayWrite ? { actions: <EndpointActions loaded={data} /> } : {})}
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
          [t('events'), eventTypesText(eventTypes, t)],
          [
            t('merchant'),
            merchantId === undefined ? (
              t('allMerchants')
            ) : (
              <EntityName key="merchant" kind="merchants" id={merchantId} />
            ),
          ],
          [t('succeeded'), <DateTime key="succeeded" at={health?.succeededAt} />],
          [t('failures'), formats.number(health?.failures ?? 0)],
          [t('created'), <DateTime key="created" at={createdAt} />],
          [t('identifier'), <CopyableText key="id" text={endpointId} label={t('identifier')} />],
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
          [t('publicKey'), <CopyableText key="key" text={publicKey} label={t('publicKey')} />],
          [
            t('previousKey'),
            previousPublicKey === undefined ? undefined : (
              <CopyableText key="previous" text={previousPublicKey} label={t('previousKey')} />
            ),
          ],
          [
            t('previousUntil'),
            previousUntil === undefined ? undefined : <DateTime key="until" at={previousUntil} />,
          ],
          [
            t('verified'),
            verifiedAt === undefined ? undefined : <DateTime key="verified" at={verifiedAt} />,
          ],
        ]}
      />
      <p className="sy-hook-hint">{t('keysHint')}</p>
    </Panel>
  );
}
