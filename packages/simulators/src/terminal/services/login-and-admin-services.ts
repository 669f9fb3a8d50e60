// Services about the terminal itself: logging in and out, diagnosis, administration.
import type { Structure } from '@switchyard/nexo';
import {
  type Inside,
  type Reply,
  ServiceFault,
  succeeded,
  type Work,
} from '../context/service-context.ts';
import { duplicateLine } from '../payments/receipts.ts';

const acquirer = 'Switchyard';

function statusOf({ moment }: Inside, isReachable: boolean): Structure<'POIStatus'> {
  const { hasPaper, isInMaintenance, isBusy } = moment;
  return {
    GlobalStatus: isInMaintenance ? 'Maintenance' : isBusy ? 'Busy' : 'OK',
    SecurityOKFlag: true,
    PEDOKFlag: true,
    CardReaderOKFlag: true,
    PrinterStatus: hasPaper ? 'OK' : 'NoPaper',
    CommunicationOKFlag: isReachable,
  };
}

export function login({ header, body }: Work<'LoginRequest'>, inside: Inside): Reply {
  const { moment, serialNumber, now } = inside;
  const wanted = body.POISerialNumber;
  if (wanted !== undefined && wanted !== serialNumber) {
    throw new ServiceFault('UnavailableDevice', 'serial_number_differs');
  }
  moment.capabilities.set(header.SaleID, body.SaleTerminalData?.SaleCapabilities ?? []);
  const answer: Structure<'LoginResponse'> = {
    Response: succeeded,
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
      POIStatus: statusOf(inside, moment.isReachable),
    },
  };
  return answer;
}

export function logout({ header }: Work<'LogoutRequest'>, { moment }: Inside): Reply {
  moment.capabilities.delete(header.SaleID);
  moment.held = undefined;
  return { Response: succeeded };
}

export async function diagnosis(
  { header, body }: Work<'DiagnosisRequest'>,
  inside: Inside,
): Promise<Reply> {
  const { moment, keeper, platform } = inside;
  const isAsked = body.HostDiagnosisFlag === true;
  const isReachable = moment.isReachable && (!isAsked || (await platform.isAvailable()));
  const logged = keeper.read().dialogue?.loggedIn ?? [];
  const answer: Structure<'DiagnosisResponse'> = {
    Response: succeeded,
    LoggedSaleID: logged.includes(header.SaleID) ? [header.SaleID] : [],
    POIStatus: statusOf(inside, isReachable),
    ...(isAsked ? { HostStatus: [{ AcquirerID: acquirer, IsReachableFlag: isReachable }] } : {}),
  };
  return answer;
}

/** `reprint` prints the last receipt, as a copy; nothing else is there to administer. */
export function admin({ body }: Work<'AdminRequest'>, { moment, tell }: Inside): Reply {
  if (body.ServiceIdentification !== 'reprint') {
    throw new ServiceFault('UnavailableService', 'admin_service_not_supported');
  }
  if (moment.lastReceipt.length === 0) throw new ServiceFault('NotFound', 'receipt_not_found');
  if (!moment.hasPaper) throw new ServiceFault('DeviceOut', 'no_paper');
  tell({ type: 'Printed', lines: [duplicateLine, ...moment.lastReceipt] });
  return { Response: succeeded };
}

/** A card may be shown before the till knows the amount; AbortTransaction forgets it. */
export function enableService(
  { body }: Work<'EnableServiceRequest'>,
  { moment, show }: Inside,
): Reply {
  if (body.TransactionAction === 'StartTransaction') show('Card', 'Welcome', 'Show your card');
  else {
    moment.held = undefined;
    show('Idle', 'Welcome');
  }
  return { Response: succeeded };
}
