/**
 * The page of an acquirer link: availability, waiting messages, invalid settings and configuration.
 */
import { Menu } from '@mantine/core';
import type { AcquirerLink } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { LabelList, useCommonDetails } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { useVersionedEntity } from '../estate/estate-data.ts';
import { LinkBadge } from './link-badge.tsx';
import { type LinkStateItem, linkStateOf } from './link-state.ts';
import { useLinkStates } from './use-link-states.ts';
import './acquirers.css';

function Backlog({ linkState }: { readonly linkState: LinkStateItem }) {
  const t = useTranslate('acquirers');
  const formats = useFormats();
  const { queue, connections, clientCertificateExpiresAt: until, alarm } = linkState;
  return (
    <Panel title={t('standing')}>
      {alarm && (
        <p className="sy-alarm-text" role="alert">
          {t('alarmText', { count: queue.alarms })}
        </p>
      )}
      <DescriptionList
        items={[
          [t('reach'), t(linkState.available ? 'reached' : 'notReached')],
          [t('settingsInUse'), linkState.usesPreviousSettings ? t('previousSettings') : undefined],
          [
            t('connections'),
            connections && t('signedOn', { on: connections.signedOn, wanted: connections.wanted }),
          ],
          [t('lastFault'), connections?.lastFault],
          [t('waiting'), formats.number(queue.length)],
          timeItem(t('oldest'), queue.oldestAt),
          [t('attempts'), queue.attempts === 0 ? undefined : formats.number(queue.attempts)],
          timeItem(t('certificateUntil'), until),
        ]}
      />
    </Panel>
  );
}

function Faults({ linkState: { faults = [] } }: { readonly linkState: LinkStateItem }) {
  const t = useTranslate('acquirers');
  if (faults.length === 0) return null;
  return (
    <Panel title={t('faults')} flush>
      <ul className="sy-link-faults">
        {faults.map(({ pointer, detail }) => (
          <li key={pointer + detail} className="sy-broken">
            <code>{pointer}</code>
            {detail}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Settings({ link }: { readonly link: AcquirerLink }) {
  const t = useTranslate('acquirers');
  const common = useCommonDetails(link.acquirerLinkId, link);
  return (
    <Panel title={t('settings')}>
      <DescriptionList
        items={[
          [t('adapter'), t(`adapters.${link.adapter}`)],
          [t('host'), `${link.host}:${link.port}`],
          [t('tls'), t(link.tls ? 'yes' : 'no')],
          [t('clientCertificate'), link.clientCertificate],
          [t('institution'), link.institutionId],
          [t('dialect'), link.dialect],
          [t('tpdu'), link.tpdu],
          [t('path'), link.httpJson?.path],
          ...common,
        ]}
      />
    </Panel>
  );
}

function Keys({ link }: { readonly link: AcquirerLink }) {
  const t = useTranslate('acquirers');
  const { zonePinKey, macKey, zoneMasterKey, signingKeys, httpJson } = link;
  const key = (name: string, text: string | undefined) => copyItem(t(`keys.${name}`), text);
  const items = [
    key('zonePinKey', zonePinKey?.keyRef),
    [t('keys.format'), zonePinKey?.format] as const,
    key('macKey', macKey?.keyRef),
    key('zoneMasterKey', zoneMasterKey?.keyRef),
    key('current', signingKeys?.current.x),
    key('next', signingKeys?.next.x),
    key('acquirer', httpJson?.acquirerKeys.join(' ')),
  ];
  if (items.every(([, value]) => value === undefined)) return null;
  return (
    <Panel title={t('keys.title')}>
      <DescriptionList items={items} />
    </Panel>
  );
}

export default function LinkPage() {
  const t = useTranslate('acquirers');
  const navigate = useNavigate();
  const acquirerLinkId = usePathParam('acquirerLinkId');
  const address = estateApiUrls.link(acquirerLinkId);
  const query = useVersionedEntity<AcquirerLink>(address);
  const states = useLinkStates();
  const mayWrite = useHasPermission('prov.write');
  const [isRequestingKeys, setRequestingKeys] = useState(false);
  const backLink = { to: '/acquirers', label: t('title') };
  if (query.data === undefined)
    return <PendingPage query={query} title={t('one')} backLink={backLink} />;
  const link = query.data.body;
  const facts = states.data?.get(acquirerLinkId);
  return (
    <Page
      title={link.name}
      aside={<LinkBadge state={linkStateOf(link, facts)} />}
      backLink={backLink}
      actions={
        <EntityActions
          kind="link"
          address={address}
          versioned={query.data}
          editTo={`/acquirers/${acquirerLinkId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: backLink.to })}
          items={
            link.zoneMasterKey !== undefined && (
              <Menu.Item
                leftSection={<Icon name="key" size={16} />}
                onClick={() => setRequestingKeys(true)}
              >
                {t('requestKeys.do')}
              </Menu.Item>
            )
          }
        />
      }
    >
      {link.approval === 'PendingApproval' && <p role="status">{t('approvalText')}</p>}
      {facts !== undefined && <Faults linkState={facts} />}
      {facts !== undefined && <Backlog linkState={facts} />}
      <Settings link={link} />
      <Keys link={link} />
      <LabelList labels={link.labels} />
      {isRequestingKeys && (
        <ActionDialog
          t={t}
          action="requestKeys"
          run={() => api.post(`${estateApiUrls.linkStates}/${acquirerLinkId}/request-keys`)}
          onClose={() => setRequestingKeys(false)}
          onDone={() => {}}
        />
      )}
    </Page>
  );
}
