// Links the physical device of a line to the logical device that the line names.
import { throwFieldProblem, throwNotFound } from '../../resources/provisioning-errors.ts';
import type { Row } from '../../resources/resource-sql.ts';
import { logicalDevices } from '../../resources/tables.ts';
import { place } from '../body/importable-types.ts';
import type { Line } from '../body/parse-line.ts';
import type { Workspace } from './row-cache.ts';
import { idKey } from './row-keys.ts';

/** The maximum number of physical devices of one logical device. */
const hardwareMax = 2;

const idsIn = (standing: Row) => standing['physical_device_ids'] as readonly string[];

/**
 * Returns the logical device that the line names, if the device can be linked to it. Returns
 * undefined if the line names none; the device then keeps its link.
 */
export function demandPlace(
  { besides }: Line,
  parents: ReadonlyMap<string, string>,
  workspace: Workspace,
  device: Row | undefined,
): Row | undefined {
  const id = parents.get(place.member);
  if (id === undefined) return undefined;
  const pointer = `/${place.external in besides ? place.external : place.member}`;
  const [standing] = workspace.rows(logicalDevices, idKey(id), true);
  if (standing === undefined) return throwNotFound(place.notFound);
  const linked = device?.['logical_device_id'] ?? null;
  if (linked !== null && linked !== standing['logical_device_id']) {
    throwFieldProblem(pointer, 'is not the logical device that it is linked to');
  }
  if (linked === null && idsIn(standing).length >= hardwareMax) {
    throwFieldProblem(pointer, `holds ${hardwareMax} physical devices already`);
  }
  const merchantId = parents.get('merchantId');
  if (merchantId !== undefined && merchantId !== standing['merchant_id']) {
    throwFieldProblem(pointer, 'belongs to another merchant', 'entity_mismatch');
  }
  return standing;
}

/** Returns the same row if the device is already linked to it. */
export function placeWith(standing: Row, deviceId: string, now: string): Row {
  const ids = idsIn(standing);
  if (ids.includes(deviceId)) return standing;
  return {
    ...standing,
    physical_device_ids: [...ids, deviceId].sort(),
    version: Number(standing['version']) + 1,
    updated_at: now,
  };
}
