/** Moves a device between logical devices, in several requests. */
import type { LogicalDevice, PhysicalDevice } from '@switchyard/contract';
import type { Versioned } from '../../app/versioned-resources.ts';

export type MoveApi = {
  device(id: string): Promise<Versioned<PhysicalDevice>>;
  logicalDevice(id: string): Promise<Versioned<LogicalDevice>>;
  replaceDevice(id: string, etag: string, body: unknown): Promise<unknown>;
  setHardware(
    placeId: string,
    etag: string,
    physicalDeviceIds: readonly string[],
  ): Promise<unknown>;
};

export type DeviceMove = {
  readonly physicalDeviceId: string;
  /** Undefined moves the device to stock. */
  readonly logicalDeviceId: string | undefined;
  /** Removes the present hardware of the target. */
  readonly isSwap: boolean;
};

/**
 * Each request starts from the current state, so the next click continues an interrupted move and
 * repeats nothing.
 */
export async function moveDevice(
  api: MoveApi,
  { physicalDeviceId, logicalDeviceId, isSwap }: DeviceMove,
): Promise<void> {
  const { body: device } = await api.device(physicalDeviceId);
  const from = device.logicalDeviceId;
  if (from !== undefined && from !== logicalDeviceId) {
    const { body, etag } = await api.logicalDevice(from);
    const remaining = body.physicalDeviceIds.filter((id) => id !== physicalDeviceId);
    await api.setHardware(from, etag, remaining);
  }
  if (logicalDeviceId === undefined || from === logicalDeviceId) return;
  const target = await api.logicalDevice(logicalDeviceId);
  if (device.merchantId !== undefined && device.merchantId !== target.body.merchantId) {
    const { body, etag } = await api.device(physicalDeviceId);
    await api.replaceDevice(physicalDeviceId, etag, {
      ...body,
      merchantId: target.body.merchantId,
    });
  }
  const remainingHardware = isSwap ? [] : target.body.physicalDeviceIds;
  await api.setHardware(logicalDeviceId, target.etag, [...remainingHardware, physicalDeviceId]);
}
