/** Fields that depend on each other in a written message; reading does not require them. */
import type { StructureName } from '../table/structures.ts';
import type { JsonObject } from './parse-json.ts';

/** A rule returns the fault of a structure, or undefined. */
type Rule = (value: JsonObject) => string | undefined;

const contentOf: Readonly<Record<string, string>> = {
  MessageRef: 'PredefinedContent',
  Text: 'OutputText',
  XHTML: 'OutputXHTML',
  BarCode: 'OutputBarcode',
};

const contentRule: Rule = ({ OutputFormat, ...content }) => {
  const contentName = contentOf[String(OutputFormat)];
  return contentName === undefined || content[contentName] !== undefined
    ? undefined
    : `needs ${contentName}`;
};

const oneOf =
  (...members: readonly string[]): Rule =>
  (value) => {
    const presentMembers = members.filter((member) => value[member] !== undefined);
    return presentMembers.length === 1 ? undefined : 'must hold exactly one body';
  };

const succeeded = ({ Response }: JsonObject): boolean =>
  (Response as JsonObject | undefined)?.['Result'] !== 'Failure';

const whenSucceeded =
  (...members: readonly string[]): Rule =>
  (value) => {
    const missing = members.find((member) => value[member] === undefined);
    return missing === undefined || !succeeded(value) ? undefined : `needs ${missing}`;
  };

/**
 * The rules by structure.
 *
 * Source: nexo Sale to POI 3.0, the "Rule" column of the dictionary as public documentation of the
 * Terminal API gives it.
 */
export const conditionalFieldRules: Partial<Readonly<Record<StructureName, Rule>>> = {
  Response: ({ Result, ErrorCondition }) =>
    Result === 'Success' || ErrorCondition !== undefined ? undefined : 'needs ErrorCondition',
  EventNotification: ({ EventToNotify, RejectedMessage }) =>
    (EventToNotify === 'Reject') === (RejectedMessage !== undefined)
      ? undefined
      : 'has RejectedMessage with Reject alone, and always',
  EnableServiceRequest: ({ TransactionAction, ServicesEnabled }) =>
    (TransactionAction === 'StartTransaction') === (ServicesEnabled !== undefined)
      ? undefined
      : 'has ServicesEnabled with StartTransaction alone, and always',
  OutputContent: contentRule,
  MenuEntry: contentRule,
  SoundRequest: ({ SoundAction, SoundContent }) =>
    SoundAction === 'StartSound' && SoundContent === undefined ? 'needs SoundContent' : undefined,
  PaymentResponse: whenSucceeded('SaleData', 'POIData', 'PaymentResult'),
  CardAcquisitionResponse: whenSucceeded('SaleData', 'POIData'),
  LoyaltyResponse: whenSucceeded('SaleData', 'POIData'),
  StoredValueResponse: whenSucceeded('SaleData', 'POIData'),
  TransactionStatusResponse: whenSucceeded('RepeatedMessageResponse'),
  RepeatedResponseMessageBody: oneOf(
    'PaymentResponse',
    'ReversalResponse',
    'LoyaltyResponse',
    'CardAcquisitionResponse',
    'StoredValueResponse',
    'CardReaderAPDUResponse',
    'BatchResponse',
  ),
  TransactionToPerform: oneOf('PaymentRequest', 'LoyaltyRequest', 'ReversalRequest'),
};
