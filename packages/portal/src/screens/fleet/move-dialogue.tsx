/** Puts hardware into a place of a store, into another one, or back into the stock. */
import { Radio, Select } from '@mantine/core';
import type { LogicalDevice, PhysicalDevice } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { ConfirmAction } from '../../parts/confirm-action.tsx';
import { notify } from '../../parts/notify.ts';
import { useWords } from '../../words/index.ts';
import { EntityPicker } from '../estate/entity-picker.tsx';
import { addresses } from '../estate/kinds.ts';
import { replace, useEstateChanged, type Versioned } from '../estate/versioned.ts';
import { type MoveApi, moveDevice } from './move.ts';

const placesMost = 200;
/** So many pieces of hardware fill a place. */
const hardwareMost = 2;

async function read<Body>(address: string): Promise<Versioned<Body>> {
  const { body, headers } = await call<Body>('GET', address);
  return { body, etag: headers.get('etag') ?? '' };
}

const moves: MoveApi = {
  device: (id) => read(addresses.device(id)),
  place: (id) => read(addresses.place(id)),
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

export function MoveDialogue({
  of,
  onClose,
}: {
  readonly of: PhysicalDevice;
  readonly onClose: () => void;
}) {
  const t = useWords('fleet');
  const changed = useEstateChanged();
  const [aim, setAim] = useState('place');
  const [storeId, setStoreId] = useState('');
  const [placeId, setPlaceId] = useState<string | null>(null);
  const [isSwap, setSwap] = useState('swap');
  const places = usePlaces(storeId).data?.items ?? [];
  const standing = places.find(({ logicalDeviceId }) => logicalDeviceId === placeId);
  const filled = standing?.physicalDeviceIds.length ?? 0;
  const mustSwap = filled >= hardwareMost;
  const { physicalDeviceId } = of;
  return (
    <ConfirmAction
      isOpen
      onClose={onClose}
      title={t('move.title')}
      confirm={t('move.do')}
      isDisabled={aim === 'place' && placeId === null}
      run={() =>
        moveDevice(moves, {
          physicalDeviceId,
          placeId: aim === 'place' ? (placeId ?? undefined) : undefined,
          isSwap: mustSwap || isSwap === 'swap',
        })
      }
      onDone={() => {
        onClose();
        notify(t('move.done'));
        changed();
      }}
    >
      <Radio.Group label={t('move.aim')} value={aim} onChange={setAim}>
        <div className="sy-move-ways">
          <Radio value="place" label={t('move.place')} />
          {of.logicalDeviceId !== undefined && <Radio value="stock" label={t('move.stock')} />}
        </div>
      </Radio.Group>
      {aim === 'place' && (
        <>
          <EntityPicker
            kind="stores"
            label={t('store')}
            isRequired
            value={storeId}
            onChange={(next) => {
              setStoreId(next);
              setPlaceId(null);
            }}
          />
          <Select
            label={t('place')}
            required
            searchable
            disabled={storeId === ''}
            nothingFoundMessage={t('move.noPlace')}
            data={places
              .filter(({ logicalDeviceId }) => logicalDeviceId !== of.logicalDeviceId)
              .map(({ logicalDeviceId, name }) => ({ value: logicalDeviceId, label: name }))}
            value={placeId}
            onChange={setPlaceId}
          />
        </>
      )}
      {aim === 'place' && filled > 0 && !mustSwap && (
        <Radio.Group label={t('move.filled')} value={isSwap} onChange={setSwap}>
          <div className="sy-move-ways">
            <Radio value="swap" label={t('move.swap')} />
            <Radio value="beside" label={t('move.beside')} />
          </div>
        </Radio.Group>
      )}
      {aim === 'place' && mustSwap && <p className="sy-dialogue-text">{t('move.full')}</p>}
    </ConfirmAction>
  );
}
