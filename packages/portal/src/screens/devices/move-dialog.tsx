/** Moves a device to a logical device of a store, or to stock. */
import { Radio, Select } from '@mantine/core';
import type { LogicalDevice, PhysicalDevice } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { readVersioned, replaceVersioned } from '../../app/versioned-resources.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { EntityPicker } from '../../components/forms/entity-picker.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { reloadEstate } from '../estate/estate-data.ts';
import { type MoveApi, moveDevice } from './move-device.ts';

const placesMost = 200;
/** The maximum number of devices per logical device. */
const hardwareMost = 2;

const moves: MoveApi = {
  device: (id) => readVersioned(estateApiUrls.device(id)),
  logicalDevice: (id) => readVersioned(estateApiUrls.place(id)),
  replaceDevice: (id, etag, body) => replaceVersioned(estateApiUrls.device(id), etag, body),
  setHardware: (placeId, etag, physicalDeviceIds) =>
    replaceVersioned(estateApiUrls.placeHardware(placeId), etag, { physicalDeviceIds }),
};

function useLogicalDevices(storeId: string) {
  return useQuery({
    queryKey: ['estate', 'places', storeId],
    queryFn: ({ signal }) =>
      api.get<{ items: LogicalDevice[] }>(estateApiUrls.places, {
        query: { storeId, limit: placesMost },
        signal,
      }),
    enabled: storeId !== '',
  });
}

type MoveTarget = {
  readonly to: 'place' | 'stock';
  readonly storeId: string;
  readonly placeId: string | null;
  readonly isSwap: boolean;
};

export function MoveDialog({
  device,
  onClose,
}: {
  readonly device: PhysicalDevice;
  readonly onClose: () => void;
}) {
  const t = useTranslate('devices');
  const [aim, setAim] = useState<MoveTarget>({
    to: 'place',
    storeId: '',
    placeId: null,
    isSwap: true,
  });
  const { physicalDeviceId } = device;
  const { to, placeId, isSwap } = aim;
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('move.title')}
      confirm={t('move.do')}
      isDisabled={to === 'place' && placeId === null}
      run={() =>
        moveDevice(moves, {
          physicalDeviceId,
          logicalDeviceId: to === 'place' ? (placeId ?? undefined) : undefined,
          isSwap,
        })
      }
      onDone={() => {
        onClose();
        showToast(t('move.done'));
        reloadEstate();
      }}
    >
      <Radio.Group
        label={t('move.aim')}
        value={to}
        onChange={(next) => setAim({ ...aim, to: next === 'stock' ? 'stock' : 'place' })}
      >
        <div className="sy-move-ways">
          <Radio value="place" label={t('move.place')} />
          {device.logicalDeviceId !== undefined && <Radio value="stock" label={t('move.stock')} />}
        </div>
      </Radio.Group>
      {to === 'place' && <LogicalDeviceChoice device={device} aim={aim} onChange={setAim} />}
    </ConfirmDialog>
  );
}

/** Selects the logical device, and if its present hardware is replaced. */
function LogicalDeviceChoice({
  device,
  aim,
  onChange,
}: {
  readonly device: PhysicalDevice;
  readonly aim: MoveTarget;
  readonly onChange: (aim: MoveTarget) => void;
}) {
  const t = useTranslate('devices');
  const { storeId, placeId, isSwap } = aim;
  const all = useLogicalDevices(storeId).data?.items ?? [];
  const choices = all.filter(({ logicalDeviceId }) => logicalDeviceId !== device.logicalDeviceId);
  const filledBy = (id: string | null) =>
    choices.find(({ logicalDeviceId }) => logicalDeviceId === id)?.physicalDeviceIds.length ?? 0;
  const filled = filledBy(placeId);
  return (
    <>
      <EntityPicker
        kind="stores"
        label={t('store')}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        required
        value={storeId}
        onChange={(next) => onChange({ ...aim, storeId: next, placeId: null })}
      />
      <Select
        label={t('place')}
        required
        searchable
        disabled={storeId === ''}
        nothingFoundMessage={t('move.noPlace')}
        data={choices.map(({ logicalDeviceId, name }) => ({ value: logicalDeviceId, label: name }))}
        value={placeId}
        onChange={(next) => onChange({ ...aim, placeId: next, isSwap: true })}
      />
      {filled > 0 && filled < hardwareMost && (
        <Radio.Group
          label={t('move.filled')}
          value={isSwap ? 'swap' : 'beside'}
          onChange={(next) => onChange({ ...aim, isSwap: next === 'swap' })}
        >
          <div className="sy-move-ways">
            <Radio value="swap" label={t('move.swap')} />
            <Radio value="beside" label={t('move.beside')} />
          </div>
        </Radio.Group>
      )}
      {filled >= hardwareMost && <p className="sy-dialogue-text">{t('move.full')}</p>}
    </>
  );
}
