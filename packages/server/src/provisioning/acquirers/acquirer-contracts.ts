// Acquirer contracts: the agreements between an acquirer and a merchant.
import type { AcquirerContract } from '@switchyard/contract';
import { isActiveCurrency } from '@switchyard/money';
import { isUuid, type Queries } from '../../platform/index.ts';
import { requireMerchant } from '../merchants/merchants.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { isTerminalIdRange, type TerminalIdRange } from '../resources/format-rules.ts';
import { throwFieldProblem } from '../resources/provisioning-errors.ts';
import type { ReferencedRows } from '../resources/referenced-rows.ts';
import type { ResourceDefinition, ResourceInput } from '../resources/resource-definition.ts';
import {
  createResourceOperations,
  type ResourceDeps,
  type ResourceOperations,
} from '../resources/resource-operations.ts';
import { createRowRepository, type Row } from '../resources/resource-sql.ts';
import { commonViewMembers, toResourceView } from '../resources/resource-view.ts';
import { acquirerContracts, acquirerLinks } from '../resources/tables.ts';
import { type RoutingRule, readOfflineLimits } from '../sale-entities/sale-entities.ts';
import type { AcquirerLinkOptions, HostDialect } from './acquirer-links.ts';
import { sharesTerminals } from './acquirer-sql.ts';
import { isHttpLink } from './http-link-settings.ts';

const linkRecords = createRowRepository(acquirerLinks);

/** Locks the link, so that two contracts cannot take the same terminals at the same time. */
async function lockLink(queries: Queries, scope: CallerScope, linkId: string): Promise<Row> {
  const organization = { organizationId: scope.organizationId };
  const link = isUuid(linkId)
    ? await linkRecords.find(queries, organization, linkId, 'update')
    : undefined;
  if (link === undefined)
    return throwFieldProblem('/acquirerLink', 'is not an acquirer link of this organisation');
  return link;
}

const terminalIdsOfHttpLinks = /^[A-Z0-9]{8}$/;

/** An early check: otherwise every sale fails when the server writes its message. */
function requireFittingIdentifiers(
  link: Row,
  { from, merchantNumber }: { from: string; merchantNumber: string },
  dialects: readonly HostDialect[],
): void {
  const rangePointer = '/terminalIdRange/from';
  if (isHttpLink(link)) {
    if (!terminalIdsOfHttpLinks.test(from))
      throwFieldProblem(rangePointer, 'must have eight characters at an HTTP acquirer');
    return;
  }
  const dialect = dialects.find(({ name }) => name === link['dialect']);
  const terminalFault = dialect?.findTerminalFault(from);
  if (terminalFault !== undefined) throwFieldProblem(rangePointer, terminalFault);
  const merchantFault = dialect?.findMerchantFault(merchantNumber);
  if (merchantFault !== undefined) throwFieldProblem('/acquirerMerchantId', merchantFault);
}

type IsCurrency = (currency: string) => boolean;

/**
 * A contract may keep a withdrawn currency, because terminals may still submit offline sales in it.
 */
function createCurrencyCheck(current: Row | undefined): IsCurrency {
  const currentCurrencies = new Set((current?.['currencies'] ?? []) as string[]);
  return (currency) => isActiveCurrency(currency) || currentCurrencies.has(currency);
}

/** One bound cannot apply to the minor units of several currencies. */
function requireValidRouting(routing: readonly RoutingRule[], isCurrency: IsCurrency): void {
  for (const [index, { currencies = [], amountFrom, amountTo }] of routing.entries()) {
    const pointer = `/routing/${index}`;
    const unknown = currencies.findIndex((currency) => !isCurrency(currency));
    if (unknown >= 0) {
      const currencyPointer = `${pointer}/currencies/${unknown}`;
      throwFieldProblem(
        currencyPointer,
        'is not an active currency code of ISO 4217',
        'currency_unknown',
      );
    }
    const isBounded = amountFrom !== undefined || amountTo !== undefined;
    if (isBounded && currencies.length !== 1) {
      throwFieldProblem(
        `${pointer}/currencies`,
        'must have exactly one currency if amountFrom or amountTo is set',
      );
    }
    if (amountFrom !== undefined && amountTo !== undefined && amountFrom > amountTo) {
      throwFieldProblem(`${pointer}/amountTo`, 'must not be less than amountFrom');
    }
  }
}

function requireValidContract(input: ResourceInput, isCurrency: IsCurrency): void {
  for (const [index, currency] of (input['currencies'] as string[]).entries()) {
    if (isCurrency(currency)) continue;
    throwFieldProblem(
      `/currencies/${index}`,
      'is not an active currency code of ISO 4217',
      'currency_unknown',
    );
  }
  const { maxAmounts = {} } = (input['offlineLimits'] ?? {}) as { maxAmounts?: object };
  for (const currency of Object.keys(maxAmounts)) {
    if (isCurrency(currency)) continue;
    const pointer = `/offlineLimits/maxAmounts/${currency}`;
    throwFieldProblem(pointer, 'is not an active currency code of ISO 4217', 'currency_unknown');
  }
  requireValidRouting((input['routing'] ?? []) as RoutingRule[], isCurrency);
  const modes = input['captureModes'] as string[];
  const standard = input['defaultCaptureMode'];
  if (standard !== undefined && !modes.includes(String(standard))) {
    throwFieldProblem('/defaultCaptureMode', 'must be one of captureModes');
  }
  if (!isTerminalIdRange(input['terminalIdRange'] as TerminalIdRange)) {
    throwFieldProblem(
      '/terminalIdRange',
      'must be a fixed prefix with a range of numbers of the same length, such as TERM0001 to TERM0099',
    );
  }
}

/** The merchant of the path; internal callers may name it in the input instead. */
async function findContractMerchantId(
  lookup: ReferencedRows,
  scope: CallerScope,
  input: ResourceInput,
): Promise<unknown> {
  const merchantId = scope.merchantId ?? input['merchantId'];
  return (await requireMerchant(lookup, scope, merchantId))['merchant_id'];
}

/** Transactions refer to their contract, so the values that they were sent with cannot change. */
function requireFixedMembersUnchanged(input: ResourceInput, current: Row): void {
  const range = input['terminalIdRange'] as TerminalIdRange;
  const fixed: readonly (readonly [string, unknown, unknown])[] = [
    ['/acquirerLink', input['acquirerLink'], current['acquirer_link_id']],
    ['/acquirerMerchantId', input['acquirerMerchantId'], current['acquirer_merchant_id']],
    ['/terminalIdRange/from', range.from, current['terminal_id_from']],
  ];
  for (const [pointer, wanted, stored] of fixed) {
    if (wanted !== stored) throwFieldProblem(pointer, 'is read-only', 'field_read_only');
  }
  if (range.to < String(current['terminal_id_to'])) {
    throwFieldProblem('/terminalIdRange/to', 'must not become smaller', 'field_read_only');
  }
}

function toContractColumns(input: ResourceInput, range: TerminalIdRange): Row {
  return {
    name: input['name'] ?? input['acquirerMerchantId'],
    acquirer_link_id: input['acquirerLink'],
    acquirer_merchant_id: input['acquirerMerchantId'],
    terminal_id_from: range.from,
    terminal_id_to: range.to,
    mcc: input['mcc'] ?? null,
    currencies: input['currencies'],
    capture_modes: input['captureModes'],
    default_capture_mode: input['defaultCaptureMode'] ?? (input['captureModes'] as string[])[0],
    capture_transport: input['captureTransport'] ?? 'Advice',
    partial_cancel: input['partialCancel'] ?? false,
    multiple_capture: input['multipleCapture'] ?? false,
    over_capture_percent: input['overCapturePercent'] ?? 0,
    partial_approval: input['partialApproval'] ?? false,
    clear_card_data: input['clearCardData'] ?? 'Refused',
    hold_days: input['holdDays'] ?? 30,
    routing: input['routing'] ?? [],
    cut_over_time: input['cutOverTime'] ?? '00:00',
    offline_limits: input['offlineLimits'] ?? null,
  };
}

type ContractOptions = Pick<AcquirerLinkOptions, 'dialects'>;

const createContractDefinition = ({
  dialects,
}: ContractOptions): ResourceDefinition<AcquirerContract> => ({
  table: acquirerContracts,
  notFoundCode: 'resource_not_found',
  idMember: 'contractId',
  auditType: 'acquirerContract',
  filters: {},
  dependants: [],
  toView: (row) =>
    toResourceView(row, {
      contractId: row['contract_id'],
      merchantId: row['merchant_id'],
      ...commonViewMembers(row),
      acquirerLink: row['acquirer_link_id'],
      acquirerMerchantId: row['acquirer_merchant_id'],
      terminalIdRange: { from: row['terminal_id_from'], to: row['terminal_id_to'] },
      mcc: row['mcc'],
      currencies: row['currencies'],
      captureModes: row['capture_modes'],
      defaultCaptureMode: row['default_capture_mode'],
      captureTransport: row['capture_transport'],
      partialCancel: row['partial_cancel'],
      multipleCapture: row['multiple_capture'],
      overCapturePercent: row['over_capture_percent'],
      partialApproval: row['partial_approval'],
      clearCardData: row['clear_card_data'],
      holdDays: row['hold_days'],
      routing: row['routing'],
      cutOverTime: row['cut_over_time'],
      offlineLimits: readOfflineLimits(row['offline_limits']),
    }),
  async toColumns(lookup, scope, input, current) {
    requireValidContract(input, createCurrencyCheck(current));
    if (current !== undefined) requireFixedMembersUnchanged(input, current);
    const range = input['terminalIdRange'] as TerminalIdRange;
    const linkId = String(input['acquirerLink']);
    const link = await lockLink(lookup.queries, scope, linkId);
    const merchantNumber = String(input['acquirerMerchantId']);
    // The values of an existing contract cannot change.
    if (current === undefined)
      requireFittingIdentifiers(link, { from: range.from, merchantNumber }, dialects());
    const contractId = current === undefined ? undefined : String(current['contract_id']);
    const { organizationId } = scope;
    // The server matches responses by terminal and trace number, so contracts cannot share a
    // terminal.
    if (await sharesTerminals(lookup.queries, { organizationId, linkId, contractId, ...range })) {
      throwFieldProblem(
        '/terminalIdRange',
        'overlaps the range of another contract of the same link',
      );
    }
    return {
      merchant_id: current?.['merchant_id'] ?? (await findContractMerchantId(lookup, scope, input)),
      ...toContractColumns(input, range),
    };
  },
  readOnlyMembers: (row) => ({ merchantId: row['merchant_id'] }),
});

export const createAcquirerContracts = (
  deps: ResourceDeps,
  options: ContractOptions,
): ResourceOperations<AcquirerContract> =>
  createResourceOperations(deps, createContractDefinition(options));
