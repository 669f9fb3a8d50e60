/** Moves hardware from place to place, as the single changes of which that is made. */
import type { LogicalDevice, PhysicalDevice } from '@switchyard/contract';
import type { Versioned } from '../estate/versioned-entities.ts';

export type MoveApi = {
  device(id: string): Promise<Versioned<PhysicalDevice>>;
  logicalDevice(id: string): Promise<Versioned<LogicalDevice>>;
  replaceDevice(id: string, etag: string, body: unknown): Promise<unknown>;
  fill(placeId: string, etag: string, physicalDeviceIds: readonly string[]): Promise<unknown>;
};

export type Move = {
  readonly physicalDeviceId: string;
  /** Undefined: into the stock. */
  readonly placeId: string | undefined;
  /** Whatever stands in the place is taken out of it. */
  readonly isSwap: boolean;
};

/**
 * Each change begins with what stands now: a move that broke off in the middle is gone on with by the
 * next press, and does nothing twice.
 */
export async function moveDevice(
  api: MoveApi,
  { physicalDeviceId, placeId, isSwap }: Move,
): Promise<void> {
  const { body: device } = await api.device(physicalDeviceId);
  const from = device.logicalDeviceId;
  if (from !== undefined && from !== placeId) {
    const { body, etag } = await api.logicalDevice(from);
    const remaining = body.physicalDeviceIds.filter((id) => id !== physicalDeviceId);
    await api.fill(from, etag, remaining);
  }
  if (placeId === undefined || from === placeId) return;
  const target = await api.logicalDevice(placeId);
  if (device.merchantId !== undefined && device.merchantId !== target.body.merchantId) {
    const { body, etag } = await api.device(physicalDeviceId);
    await api.replaceDevice(physicalDeviceId, etag, {
      ...body,
      merchantId: target.body.merchantId,
    });
  }
  const beside = isSwap ? [] : target.body.physicalDeviceIds;
  await api.fill(placeId, target.etag, [...beside, physicalDeviceId]);
}
