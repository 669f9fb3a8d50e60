// Services about the terminal itself: login, logout, diagnosis, administration.
import type { Structure } from '@switchyard/nexo';
import {
  type ReplyBody,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
  successResponse,
} from '../context/service-context.ts';
import { duplicateLine } from '../payments/receipts.ts';

const acquirer = 'Switchyard';

function statusOf({ runtime }: ServiceContext, isReachable: boolean): Structure<'POIStatus'> {
  const { hasPaper, isInMaintenance, isBusy } = runtime;
  return {
    GlobalStatus: isInMaintenance ? 'Maintenance' : isBusy ? 'Busy' : 'OK',
    SecurityOKFlag: true,
    PEDOKFlag: true,
    CardReaderOKFlag: true,
    PrinterStatus: hasPaper ? 'OK' : 'NoPaper',
    CommunicationOKFlag: isReachable,
  };
}

export function login(
  { header, body }: ServiceCall<'LoginRequest'>,
  context: ServiceContext,
): ReplyBody {
  const { runtime, serialNumber, now } = context;
  const requestedSerialNumber = body.POISerialNumber;
  if (requestedSerialNumber !== undefined && requestedSerialNumber !== serialNumber) {
    throw new ServiceError('UnavailableDevice', 'serial_number_differs');
  }
  runtime.capabilities.set(header.SaleID, body.SaleTerminalData?.SaleCapabilities ?? []);
  const answer: Structure<'LoginResponse'> = {
    Response: successResponse,
    POISystemData: {
      DateTime: new Date(now()).toISOString(),
      POISoftware: {
        ManufacturerID: 'Switchyard',
        ApplicationName: 'Simulated terminal',
        SoftwareVersion: '0.1.0',
      },
      POITerminalData: {
        TerminalEnvironment: 'Attended',
        POICapabilities: [
          'CustomerDisplay',
          'CustomerInput',
          'PrinterReceipt',
          'PrinterDocument',
          'MagStripe',
          'ICC',
          'EMVContactless',
        ],
        POIProfile: {
          GenericProfile: 'Extended',
          ServiceProfiles: [
            'Synchro',
            'Batch',
            'OneTimeRes',
            'Reservation',
            'Loyalty',
            'StoredValue',
            'PIN',
            'CardReader',
            'Sound',
            'Communication',
          ],
        },
        POISerialNumber: serialNumber,
      },
      POIStatus: statusOf(context, runtime.isReachable),
    },
  };
  return answer;
}

export function logout(
  { header }: ServiceCall<'LogoutRequest'>,
  { runtime }: ServiceContext,
): ReplyBody {
  runtime.capabilities.delete(header.SaleID);
  runtime.acquiredCard = undefined;
  return { Response: successResponse };
}

export async function diagnosis(
  { header, body }: ServiceCall<'DiagnosisRequest'>,
  context: ServiceContext,
): Promise<ReplyBody> {
  const { runtime, store, platform } = context;
  const isHostRequested = body.HostDiagnosisFlag === true;
  const isReachable = runtime.isReachable && (!isHostRequested || (await platform.isAvailable()));
  const logged = store.read().dialogue?.loggedIn ?? [];
  const answer: Structure<'DiagnosisResponse'> = {
    Response: successResponse,
    LoggedSaleID: logged.includes(header.SaleID) ? [header.SaleID] : [],
    POIStatus: statusOf(context, isReachable),
    ...(isHostRequested
      ? { HostStatus: [{ AcquirerID: acquirer, IsReachableFlag: isReachable }] }
      : {}),
  };
  return answer;
}

/** Supports `reprint` only, which prints the last receipt as a duplicate. */
export function admin(
  { body }: ServiceCall<'AdminRequest'>,
  { runtime, emit }: ServiceContext,
): ReplyBody {
  if (body.ServiceIdentification !== 'reprint') {
    throw new ServiceError('UnavailableService', 'admin_service_not_supported');
  }
  if (runtime.lastReceipt.length === 0) throw new ServiceError('NotFound', 'receipt_not_found');
  if (!runtime.hasPaper) throw new ServiceError('DeviceOut', 'no_paper');
  emit({ type: 'Printed', lines: [duplicateLine, ...runtime.lastReceipt] });
  return { Response: successResponse };
}

/** A card may be presented before the till knows the amount; AbortTransaction drops it. */
export function enableService(
  { body }: ServiceCall<'EnableServiceRequest'>,
  { runtime, show }: ServiceContext,
): ReplyBody {
  if (body.TransactionAction === 'StartTransaction') show('Card', 'Welcome', 'Show your card');
  else {
    runtime.acquiredCard = undefined;
    show('Idle', 'Welcome');
  }
  return { Response: successResponse };
}
