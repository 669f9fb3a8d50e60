/** The page of a device: connection, location, services and certificates. */
import './devices.css';
import { Button, TextInput } from '@mantine/core';
import type { ConnectedDevice, PhysicalDevice } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage, QueryContent } from '../../components/layout/query-content.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { timeItem } from '../../components/values/description-items.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { LabelList, useCommonDetails } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { reloadEstate, useVersionedEntity } from '../estate/estate-data.ts';
import { LogicalDeviceServices, ParameterDelivery } from '../logical-devices/device-services.tsx';
import { Certificates } from './certificates.tsx';
import { ConnectionBadge } from './connection-badge.tsx';
import { MoveDialog } from './move-dialog.tsx';
import { pollMs } from './use-live-connections.ts';

function useConnected(physicalDeviceId: string) {
  return useQuery({
    queryKey: ['estate', 'connected', physicalDeviceId],
    queryFn: ({ signal }) =>
      api.get<ConnectedDevice>(estateApiUrls.presenceOf(physicalDeviceId), {
        signal,
        isBackground: true,
      }),
    refetchInterval: pollMs,
  });
}

type Connected = ReturnType<typeof useConnected>;

function Connection({ deviceQuery }: { readonly deviceQuery: Connected }) {
  const t = useTranslate('devices');
  return (
    <Panel title={t('connection')}>
      <QueryContent query={deviceQuery} lines={2}>
        {({ connection, enabled }) => (
          <DescriptionList
            items={[
              [
                t('status'),
                <ConnectionBadge key="status" connection={connection} enabled={enabled} />,
              ],
              timeItem(t('since'), connection.since),
              timeItem(t('seen'), connection.lastSeenAt),
              [t('node'), connection.node],
            ]}
          />
        )}
      </QueryContent>
    </Panel>
  );
}

function Location({ deviceQuery }: { readonly deviceQuery: Connected }) {
  const t = useTranslate('devices');
  const { name, deviceId, storeId, merchantId } = deviceQuery.data ?? {};
  const link = (to: string, kind: 'merchants' | 'stores', id: string) => (
    <Link key={kind} className="sy-link" to={to}>
      <EntityName kind={kind} id={id} />
    </Link>
  );
  return (
    <Panel title={t('standing')}>
      {deviceId === undefined && <p className="sy-nothing">{t('inStockText')}</p>}
      <DescriptionList
        items={[
          [
            t('place'),
            deviceId && (
              <Link key="place" className="sy-link sy-broken" to={`/logical-devices/${deviceId}`}>
                {name}
              </Link>
            ),
          ],
          [t('store'), storeId && link(`/stores/${storeId}`, 'stores', storeId)],
          [t('merchant'), merchantId && link(`/merchants/${merchantId}`, 'merchants', merchantId)],
        ]}
      />
    </Panel>
  );
}

function Hardware({ device }: { readonly device: PhysicalDevice }) {
  const t = useTranslate('devices');
  const common = useCommonDetails(device.physicalDeviceId, device);
  return (
    <Panel title={t('hardware')}>
      <DescriptionList
        items={[
          [t('serialNumber'), device.serialNumber],
          [t('model'), `${device.make} ${device.model}`],
          [t('family'), device.family],
          [t('tsn'), device.tsn],
          ...common,
        ]}
      />
    </Panel>
  );
}

function PageActions({
  deviceQuery,
}: {
  readonly deviceQuery: ReturnType<typeof useVersionedEntity<PhysicalDevice>>;
}) {
  const t = useTranslate('devices');
  const navigate = useNavigate();
  const mayWrite = useHasPermission('prov.write');
  const [isMoving, setMoving] = useState(false);
  if (deviceQuery.data === undefined) return null;
  const { physicalDeviceId } = deviceQuery.data.body;
  return (
    <>
      <EntityActions
        kind="device"
        address={estateApiUrls.device(physicalDeviceId)}
        versioned={deviceQuery.data}
        editTo={`/devices/${physicalDeviceId}/edit`}
        mayWrite={mayWrite}
        onDeleted={() => void navigate({ to: '/devices' })}
      >
        {mayWrite && (
          <Button
            variant="default"
            leftSection={<Icon name="store" size={16} />}
            onClick={() => setMoving(true)}
          >
            {t('move.open')}
          </Button>
        )}
      </EntityActions>
      {isMoving && <MoveDialog device={deviceQuery.data.body} onClose={() => setMoving(false)} />}
    </>
  );
}

export default function DevicePage() {
  const t = useTranslate('devices');
  const physicalDeviceId = usePathParam('physicalDeviceId');
  const query = useVersionedEntity<PhysicalDevice>(estateApiUrls.device(physicalDeviceId));
  const connected = useConnected(physicalDeviceId);
  const backLink = { to: '/devices', label: t('title') };
  if (query.data === undefined)
    return <PendingPage query={query} title={t('one')} backLink={backLink} />;
  const device = query.data.body;
  const { logicalDeviceId } = device;
  return (
    <Page
      title={connected.data?.name ?? device.name}
      aside={
        connected.data && (
          <ConnectionBadge
            connection={connected.data.connection}
            enabled={connected.data.enabled}
          />
        )
      }
      lead={device.tsn}
      backLink={backLink}
      actions={<PageActions deviceQuery={query} />}
    >
      <div className="sy-columns">
        <div className="sy-column">
          <Connection deviceQuery={connected} />
          <Hardware device={device} />
          <LabelList labels={device.labels} />
          <TerminalClaim device={device} />
          <Certificates physicalDeviceId={physicalDeviceId} />
        </div>
        <div className="sy-column">
          <Location deviceQuery={connected} />
          {logicalDeviceId !== undefined && (
            <>
              <LogicalDeviceServices logicalDeviceId={logicalDeviceId} />
              <ParameterDelivery logicalDeviceId={logicalDeviceId} />
            </>
          )}
        </div>
      </div>
    </Page>
  );
}

function TerminalClaim({ device }: { readonly device: PhysicalDevice }) {
  const t = useTranslate('devices');
  const mayClaim = useHasPermission('dev.write', 'prov.write');
  const [isOpen, setOpen] = useState(false);
  const { physicalDeviceId, claimStatus, claimMethod, claimedAt } = device;
  const isClaimed = claimStatus === 'Claimed';
  return (
    <Panel title={t('claim.title')}>
      <DescriptionList
        items={[
          [
            t('status'),
            <StateBadge key="status" state={claimStatus} tone={isClaimed ? 'good' : 'warn'}>
              {t(`claim.states.${claimStatus}`)}
            </StateBadge>,
          ],
          [t('claim.method'), claimMethod && t(`claim.methods.${claimMethod}`)],
          timeItem(t('since'), claimedAt),
        ]}
      />
      {!isClaimed && <p className="sy-nothing">{t('claim.text')}</p>}
      {!isClaimed && mayClaim && (
        <Button variant="default" onClick={() => setOpen(true)}>
          {t('claim.open')}
        </Button>
      )}
      {isOpen && (
        <EnterCode address={estateApiUrls.claim(physicalDeviceId)} onClose={() => setOpen(false)} />
      )}
    </Panel>
  );
}

function EnterCode({
  address,
  onClose,
}: {
  readonly address: string;
  readonly onClose: () => void;
}) {
  const t = useTranslate('devices');
  const [code, setCode] = useState('');
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('claim.open')}
      confirm={t('claim.confirm')}
      run={() => api.post(address, { body: { claimCode: code.trim() } })}
      onDone={() => {
        onClose();
        showToast(t('claim.done'));
        reloadEstate();
      }}
    >
      <TextInput
        label={t('claim.code')}
        placeholder="K7QM-2F9X"
        autoComplete="off"
        maxLength={9}
        value={code}
        onChange={({ currentTarget }) => setCode(currentTarget.value)}
      />
    </ConfirmDialog>
  );
}
