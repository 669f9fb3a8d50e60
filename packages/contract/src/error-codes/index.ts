/** The closed list of error codes, in the order of the checks of a request. */
import { accessCodes, transportCodes } from './access-codes.ts';
import { connectorCodes } from './connector-codes.ts';
import { fieldCodes } from './field-codes.ts';
import {
  configurationCodes,
  idempotencyCodes,
  lookupCodes,
  stateCodes,
} from './operation-codes.ts';
import { reportingCodes } from './reporting-codes.ts';
import { retailCodes } from './retail-codes.ts';
import { serverCodes } from './server-codes.ts';

export const errorTable = {
  ...transportCodes,
  ...accessCodes,
  ...fieldCodes,
  ...lookupCodes,
  ...idempotencyCodes,
  ...stateCodes,
  ...configurationCodes,
  ...connectorCodes,
  ...retailCodes,
  ...reportingCodes,
  ...serverCodes,
} as const;
