// The file of `switchyard admin setup`: everything that a first sale needs, with the bodies of the API.
import { type Static, type TProperties, Type } from 'typebox';
import { readCheckedDocument } from '../../../packages/cli/src/files/checked-document.ts';
import {
  AcquirerContractInput,
  AcquirerLinkInput,
  LogicalDeviceInput,
  MerchantInput,
  PhysicalDeviceInput,
  StoreInput,
} from '../../../packages/contract/src/index.ts';
import {
  mailAddressPattern,
  organizationNamePattern,
  userDomainPattern,
} from '../account-patterns.ts';

const closed = <const Properties extends TProperties>(
  properties: Properties,
  description: string,
) => Type.Object(properties, { additionalProperties: false, description });

const organizationName = Type.String({ pattern: organizationNamePattern.source });
const userDomain = Type.String({ pattern: userDomainPattern.source });
const mailAddress = Type.String({ pattern: mailAddressPattern.source });

const { acquirerLink: _link, ...contract } = AcquirerContractInput.properties;
const { merchantId: _merchant, ...store } = StoreInput.properties;
const { make, model, family, serialNumber } = PhysicalDeviceInput.properties;
const { name: deviceName } = LogicalDeviceInput.properties;

export const SetupFile = closed(
  {
    operator: closed(
      {
        name: organizationName,
        userDomain: Type.Optional(userDomain),
        administrator: Type.Optional(mailAddress),
      },
      'The operator of the platform. It is created if the platform has none.',
    ),
    acquirer: Type.Optional(
      closed(
        { name: organizationName, userDomain, administrator: Type.Optional(mailAddress) },
        'The organisation of the acquirer. Without it the operator is the acquirer.',
      ),
    ),
    link: AcquirerLinkInput,
    merchant: MerchantInput,
    contract: closed(contract, 'The contract of the merchant, which uses the link.'),
    store: closed(store, 'A store of the merchant.'),
    device: closed(
      { name: deviceName, make, model, family, serialNumber },
      'A terminal in the store.',
    ),
    application: closed(
      { name: organizationName },
      'The application with which a server of the merchant makes payments.',
    ),
  },
  'The file of switchyard admin setup.',
);
export type SetupFile = Static<typeof SetupFile>;

/** @throws CommandError with all errors of the file and their lines */
export const readSetupFile = (file: string): SetupFile =>
  readCheckedDocument(file, SetupFile).value as SetupFile;
