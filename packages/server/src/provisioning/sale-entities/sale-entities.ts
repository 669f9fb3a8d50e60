// Resolves the identifiers of a sale to a merchant, its store, device and acquirer contracts.
import { type ErrorCode, throwProblem } from '@switchyard/contract';
import { formatAddressLine, type PostalAddress } from '../merchants/format-address-line.ts';
import { throwFieldProblem, throwNotFound } from '../resources/provisioning-errors.ts';
import type { Row } from '../resources/resource-sql.ts';

export type CaptureMode = 'Immediate' | 'Deferred';

/** The limits for sales that a terminal approved offline. */
export type OfflineLimits = {
  /**
   * Minor units by currency; other currencies are not accepted. If absent, any amount is accepted.
   */
  readonly maxAmounts?: Readonly<Record<string, number>>;
  readonly maxAgeHours: number;
  /** The maximum for one device within 24 hours. */
  readonly maxCount: number;
};

/** The sales that a contract accepts, and its share of them. */
export type RoutingRule = {
  readonly schemes?: readonly string[];
  readonly currencies?: readonly string[];
  /** In minor units of the single currency. */
  readonly amountFrom?: number;
  readonly amountTo?: number;
  /** From 0 to 100; 100 if absent. */
  readonly weight?: number;
};

export type AcquirerContract = {
  readonly contractId: string;
  readonly merchantId: string;
  /** The identifier of the acquirer link. */
  readonly acquirerLink: string;
  readonly acquirerMerchantId: string;
  readonly terminalIdRange: { readonly from: string; readonly to: string };
  readonly mcc: string;
  readonly currencies: readonly string[];
  readonly captureModes: readonly CaptureMode[];
  readonly defaultCaptureMode: CaptureMode;
  readonly captureTransport: 'Advice' | 'File';
  readonly partialCancel: boolean;
  readonly multipleCapture: boolean;
  readonly overCapturePercent: number;
  readonly partialApproval: boolean;
  readonly clearCardData: 'Allowed' | 'Refused';
  readonly holdDays: number;
  /** If empty, the contract accepts every sale that matches no rule of another contract. */
  readonly routing: readonly RoutingRule[];
  /** `HH:MM` in the store's local time, at which the next settlement day begins. */
  readonly cutOverTime: string;
  readonly offlineLimits: OfflineLimits;
};

export type SaleEntities = {
  readonly merchant: {
    readonly merchantId: string;
    readonly name: string;
    readonly mcc: string;
    readonly country: string;
    readonly timeZone: string;
    readonly status: 'Enabled';
    readonly address?: PostalAddress;
    /** The address in one line, for receipts. */
    readonly addressLine?: string;
  };
  /** Time zone and address default to those of the merchant. */
  readonly store?: {
    readonly storeId: string;
    readonly name: string;
    readonly timeZone: string;
    readonly address?: PostalAddress;
    /** The address in one line, for receipts. */
    readonly addressLine?: string;
  };
  readonly device?: { readonly deviceId: string; readonly name: string };
  /** The oldest enabled contract with an enabled link. */
  readonly contract: AcquirerContract;
  /** All enabled contracts with an enabled link, oldest first. */
  readonly contracts: readonly AcquirerContract[];
};

/** The merchant and the place of a transaction that needs no card acquirer. */
export type MerchantAndPlace = Omit<SaleEntities, 'merchant' | 'contract'> & {
  readonly organizationName: string;
  /** `externalId` is the organisation's own identifier of the merchant. */
  readonly merchant: SaleEntities['merchant'] & { readonly externalId?: string };
};

/** The identifiers that a sale or its token names; at least one is present. */
export type SaleEntityIds = {
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
  readonly deviceId?: string | undefined;
};

/** The binding of the token; its bearer cannot see entities outside it. */
export type TokenBinding = { readonly merchantId?: string | undefined };

const textColumn = (row: Row, column: string) => String(row[column]);
const isNull = (row: Row, column: string) => (row[column] ?? null) === null;
const isSameId = (requestedId: string, storedId: unknown) => requestedId.toLowerCase() === storedId;

function requireKnownEntities(row: Row, names: SaleEntityIds, within: TokenBinding): void {
  if (names.deviceId !== undefined && isNull(row, 'logical_device_id')) {
    throwNotFound('device_not_found');
  }
  if (isNull(row, 'store_id') && names.storeId !== undefined) throwNotFound('store_not_found');
  if (isNull(row, 'merchant_id')) throwNotFound('merchant_not_found');
  if (within.merchantId === undefined) return;
  // The row holds the named store even if the device is elsewhere, so each is checked separately.
  if (!isNull(row, 'store_id') && !isSameId(within.merchantId, row['store_merchant_id'])) {
    throwNotFound(names.storeId === undefined ? 'device_not_found' : 'store_not_found');
  }
  if (!isSameId(within.merchantId, row['merchant_id'])) throwNotFound('merchant_not_found');
}

function requireMatchingEntities(row: Row, names: SaleEntityIds, within: TokenBinding): void {
  if (!isNull(row, 'store_id') && row['store_merchant_id'] !== row['merchant_id']) {
    const pointer = names.storeId === undefined ? '/deviceId' : '/storeId';
    throwFieldProblem(pointer, 'does not belong to the merchant', 'entity_mismatch');
  }
  if (!isNull(row, 'logical_device_id') && row['device_store_id'] !== row['store_id']) {
    if (within.merchantId !== undefined && row['device_merchant_id'] !== row['merchant_id']) {
      throwNotFound('device_not_found');
    }
    throwFieldProblem('/deviceId', 'does not belong to the store', 'entity_mismatch');
  }
}

function requireEnabledEntities(row: Row): void {
  const levels: readonly (readonly [string, ErrorCode, string])[] = [
    ['organization_status', 'merchant_not_active', 'The organisation is disabled.'],
    ['merchant_status', 'merchant_not_active', 'The merchant is disabled.'],
    ['store_status', 'store_not_active', 'The store is disabled.'],
    ['device_status', 'device_not_active', 'The device is disabled.'],
  ];
  for (const [column, code, detail] of levels) {
    if (row[column] === 'Disabled') throwProblem(code, detail);
  }
}

/** The line is formatted here, because these entities are cached, and each sale stores it. */
function addressMembers(value: unknown): { address?: PostalAddress; addressLine?: string } {
  if (typeof value !== 'object' || value === null) return {};
  const address = value as PostalAddress;
  return { address, addressLine: formatAddressLine(address) };
}

/** The defaults: one week, and more sales than a till makes in a day. */
const defaultOfflineLimits: OfflineLimits = { maxAgeHours: 168, maxCount: 1000 };

/** The limits from the column, with all defaults. */
export function readOfflineLimits(column: unknown): OfflineLimits {
  return (column as OfflineLimits | null | undefined) ?? defaultOfflineLimits;
}

/** Reads a contract from the column names of the statements. */
export function readContract(row: Row): AcquirerContract {
  return {
    contractId: textColumn(row, 'contract_id'),
    merchantId: textColumn(row, 'contract_merchant_id'),
    acquirerLink: textColumn(row, 'acquirer_link_id'),
    acquirerMerchantId: textColumn(row, 'acquirer_merchant_id'),
    terminalIdRange: {
      from: textColumn(row, 'terminal_id_from'),
      to: textColumn(row, 'terminal_id_to'),
    },
    mcc: String(row['contract_mcc'] ?? row['merchant_mcc']),
    currencies: row['currencies'] as string[],
    captureModes: row['capture_modes'] as CaptureMode[],
    defaultCaptureMode: row['default_capture_mode'] as CaptureMode,
    captureTransport: row['capture_transport'] as 'Advice' | 'File',
    partialCancel: row['partial_cancel'] === true,
    multipleCapture: row['multiple_capture'] === true,
    overCapturePercent: Number(row['over_capture_percent']),
    partialApproval: row['partial_approval'] === true,
    clearCardData: row['clear_card_data'] as 'Allowed' | 'Refused',
    holdDays: Number(row['hold_days']),
    routing: (row['routing'] ?? []) as RoutingRule[],
    cutOverTime: textColumn(row, 'cut_over_time'),
    offlineLimits: readOfflineLimits(row['offline_limits']),
  };
}

function readEntities(row: Row): Omit<SaleEntities, 'contract' | 'contracts'> {
  const merchant = {
    merchantId: textColumn(row, 'merchant_id'),
    name: textColumn(row, 'merchant_name'),
    mcc: textColumn(row, 'merchant_mcc'),
    country: textColumn(row, 'country'),
    timeZone: textColumn(row, 'merchant_time_zone'),
    status: 'Enabled' as const,
    ...addressMembers(row['merchant_address']),
  };
  if (isNull(row, 'store_id')) return { merchant };
  const store = {
    storeId: textColumn(row, 'store_id'),
    name: textColumn(row, 'store_name'),
    timeZone: String(row['store_time_zone'] ?? merchant.timeZone),
    ...addressMembers(row['store_address'] ?? merchant.address),
  };
  if (isNull(row, 'logical_device_id')) return { merchant, store };
  const device = {
    deviceId: textColumn(row, 'logical_device_id'),
    name: textColumn(row, 'device_name'),
  };
  return { merchant, store, device };
}

function requireUsableRow(rows: readonly Row[], names: SaleEntityIds, within: TokenBinding): Row {
  const [row] = rows;
  if (row === undefined) return throwNotFound('merchant_not_found');
  requireKnownEntities(row, names, within);
  requireMatchingEntities(row, names, within);
  requireEnabledEntities(row);
  return row;
}

/** A disabled link may still be open, but only to finish earlier transactions. */
const usableContracts = (rows: readonly Row[]) =>
  rows.filter((each) => each['link_status'] === 'Enabled').map(readContract);

/**
 * The same for transactions without a card acquirer: there may be no contract.
 *
 * @param rows one for each enabled contract of the merchant, or one without any
 */
export function readSaleEntitiesWithoutAcquirer(
  rows: readonly Row[],
  names: SaleEntityIds,
  within: TokenBinding,
): MerchantAndPlace {
  const row = requireUsableRow(rows, names, within);
  const { merchant, ...place } = readEntities(row);
  const externalId = row['merchant_external_id'];
  return {
    ...place,
    merchant: { ...merchant, ...(typeof externalId === 'string' ? { externalId } : {}) },
    organizationName: textColumn(row, 'organization_name'),
    contracts: usableContracts(rows),
  };
}

/**
 * Throws a matching ProblemError if the names do not identify an entity that accepts sales.
 *
 * @param rows one for each enabled contract of the merchant, oldest first
 */
export function readSaleEntities(
  rows: readonly Row[],
  names: SaleEntityIds,
  within: TokenBinding,
): SaleEntities {
  const row = requireUsableRow(rows, names, within);
  if (isNull(row, 'contract_id')) {
    throwProblem('no_acquirer_for_merchant', 'The merchant has no enabled acquirer contract.');
  }
  const contracts = usableContracts(rows);
  const [contract] = contracts;
  if (contract === undefined) {
    return throwProblem(
      'no_acquirer_for_merchant',
      'The acquirer link of the contract is disabled, or the operator of the platform has not approved it.',
    );
  }
  return { ...readEntities(row), contract, contracts };
}
