/** Puts hardware into a place of a store, into another one, or back into the stock. */
import { Radio, Select } from '@mantine/core';
import type { LogicalDevice, PhysicalDevice } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { addresses } from '../estate/entity-kinds.ts';
import { EntityPicker } from '../estate/entity-picker.tsx';
import { replace, useEstateChanged, type Versioned } from '../estate/versioned-entities.ts';
import { type MoveApi, moveDevice } from './move-device.ts';

const placesMost = 200;
/** So many pieces of hardware fill a place. */
const hardwareMost = 2;

async function read<Body>(address: string): Promise<Versioned<Body>> {
  const { body, headers } = await call<Body>('GET', address);
  return { body, etag: headers.get('etag') ?? '' };
}

const moves: MoveApi = {
  device: (id) => read(addresses.device(id)),
  logicalDevice: (id) => read(addresses.place(id)),
  replaceDevice: (id, etag, body) => replace(addresses.device(id), etag, body),
  fill: (placeId, etag, physicalDeviceIds) =>
    replace(addresses.placeHardware(placeId), etag, { physicalDeviceIds }),
};

function usePlaces(storeId: string) {
  return useQuery({
    queryKey: ['estate', 'places', storeId],
    queryFn: ({ signal }) =>
      api.get<{ items: LogicalDevice[] }>(addresses.places, {
        query: { storeId, limit: placesMost },
        signal,
      }),
    enabled: storeId !== '',
  });
}

type Aim = {
  readonly to: 'place' | 'stock';
  readonly storeId: string;
  readonly placeId: string | null;
  readonly isSwap: boolean;
};

export function MoveDialogue({
  device,
  onClose,
}: {
  readonly device: PhysicalDevice;
  readonly onClose: () => void;
}) {
  const t = useTranslate('devices');
  const changed = useEstateChanged();
  const [aim, setAim] = useState<Aim>({ to: 'place', storeId: '', placeId: null, isSwap: true });
  const { physicalDeviceId } = device;
  const { to, placeId, isSwap } = aim;
  return (
    <ConfirmAction
      isOpen
      onClose={onClose}
      title={t('move.title')}
      confirm={t('move.do')}
      isDisabled={to === 'place' && placeId === null}
      run={() =>
        moveDevice(moves, {
          physicalDeviceId,
          placeId: to === 'place' ? (placeId ?? undefined) : undefined,
          isSwap,
        })
      }
      onDone={() => {
        onClose();
        notify(t('move.done'));
        changed();
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
      {to === 'place' && <PlaceChoice device={device} aim={aim} onChange={setAim} />}
    </ConfirmAction>
  );
}

/** Which place, and what becomes of the hardware that fills it. */
function PlaceChoice({
  device,
  aim,
  onChange,
}: {
  readonly device: PhysicalDevice;
  readonly aim: Aim;
  readonly onChange: (aim: Aim) => void;
}) {
  const t = useTranslate('devices');
  const { storeId, placeId, isSwap } = aim;
  const all = usePlaces(storeId).data?.items ?? [];
  const choices = all.filter(({ logicalDeviceId }) => logicalDeviceId !== device.logicalDeviceId);
  const filledBy = (id: string | null) =>
    choices.find(({ logicalDeviceId }) => logicalDeviceId === id)?.physicalDeviceIds.length ?? 0;
  const filled = filledBy(placeId);
  return (
    <>
      <EntityPicker
        kind="stores"
        label={t('store')}
        isRequired
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
