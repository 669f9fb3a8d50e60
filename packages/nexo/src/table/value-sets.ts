/** The value sets: closed ones are acted upon, open ones may grow without a message being refused. */

/**
 * Values that decide what is done. Another one makes a message faulty: to guess would be to act on
 * what was not said.
 *
 * Source: nexo Sale to POI 3.0, as the models of `@adyen/api-library` 32.1.0 list it (`typings/terminal`).
 *
 * @example
 * closedSets.Result; // ['Success', 'Partial', 'Failure']
 */
export const closedSets = {
  MessageClass: ['Service', 'Device', 'Event'],
  MessageType: ['Request', 'Response', 'Notification'],
  MessageCategory: [
    'Abort',
    'Admin',
    'BalanceInquiry',
    'Batch',
    'CardAcquisition',
    'CardReaderAPDU',
    'CardReaderInit',
    'CardReaderPowerOff',
    'Diagnosis',
    'Display',
    'EnableService',
    'Event',
    'GetTotals',
    'Input',
    'InputUpdate',
    'Login',
    'Logout',
    'Loyalty',
    'PIN',
    'Payment',
    'Print',
    'Reconciliation',
    'Reversal',
    'Sound',
    'StoredValue',
    'TransactionStatus',
    'Transmit',
  ],
  Result: ['Success', 'Partial', 'Failure'],
  PaymentType: [
    'Normal',
    'Refund',
    'OneTimeReservation',
    'FirstReservation',
    'UpdateReservation',
    'Completion',
    'CashAdvance',
    'CashDeposit',
    'Recurring',
    'Instalment',
    'IssuerInstalment',
    'PaidOut',
  ],
  ReversalReason: ['CustCancel', 'MerchantCancel', 'Malfunction', 'Unable2Compl'],
  ReconciliationType: [
    'SaleReconciliation',
    'AcquirerSynchronisation',
    'AcquirerReconciliation',
    'PreviousReconciliation',
  ],
  LoyaltyTransactionType: [
    'Award',
    'Rebate',
    'Redemption',
    'AwardRefund',
    'RebateRefund',
    'RedemptionRefund',
  ],
  StoredValueTransactionType: ['Reserve', 'Activate', 'Load', 'Unload', 'Reverse', 'Duplicate'],
  TransactionAction: ['StartTransaction', 'AbortTransaction'],
  ServicesEnabled: ['CardAcquisition', 'Payment', 'Loyalty'],
  InputCommand: [
    'GetAnyKey',
    'GetConfirmation',
    'SiteManager',
    'TextString',
    'DigitString',
    'DecimalString',
    'GetFunctionKey',
    'GetMenuEntry',
    'Password',
  ],
  Device: ['CashierDisplay', 'CustomerDisplay', 'CashierInput', 'CustomerInput'],
  OutputFormat: ['MessageRef', 'Text', 'XHTML', 'BarCode'],
  ResponseMode: ['NotRequired', 'Immediate', 'PrintEnd', 'SoundEnd'],
  DocumentQualifier: [
    'SaleReceipt',
    'CashierReceipt',
    'CustomerReceipt',
    'Document',
    'Voucher',
    'Journal',
  ],
  SoundAction: ['StartSound', 'StopSound', 'SetDefaultVolume'],
  PINRequestType: ['PINEnter', 'PINVerify', 'PINVerifyOnly'],
  PINFormat: ['ISO0', 'ISO1', 'ISO2', 'ISO3'],
  ForceEntryMode: [
    'RFID',
    'Keyed',
    'Manual',
    'File',
    'Scanned',
    'MagStripe',
    'ICC',
    'SynchronousICC',
    'Tapped',
    'Contactless',
    'CheckReader',
  ],
} as const satisfies Record<string, readonly string[]>;

/**
 * Informative values. A maker's addition is kept as it came, and means nothing more
 * than "something else".
 *
 * Source: as {@link closedSets}; `NetworkConnected`, `NetworkDisconnected` and `ScanBarcodeResult` are
 * that library's own.
 *
 * @example
 * openSets.PrinterStatus.includes('PaperLow'); // true
 */
export const openSets = {
  ErrorCondition: [
    'Aborted',
    'Busy',
    'Cancel',
    'DeviceOut',
    'InProgress',
    'InsertedCard',
    'InvalidCard',
    'LoggedOut',
    'MessageFormat',
    'NotAllowed',
    'NotFound',
    'PaymentRestriction',
    'Refusal',
    'UnavailableDevice',
    'UnavailableService',
    'UnreachableHost',
    'WrongPIN',
  ],
  EventToNotify: [
    'BeginMaintenance',
    'EndMaintenance',
    'Shutdown',
    'Initialised',
    'OutOfOrder',
    'Completed',
    'Abort',
    'SaleWakeUp',
    'SaleAdmin',
    'CustomerLanguage',
    'KeyPressed',
    'SecurityAlarm',
    'StopAssistance',
    'CardInserted',
    'CardRemoved',
    'Reject',
    'NetworkConnected',
    'NetworkDisconnected',
    'ScanBarcodeResult',
  ],
  AccountType: [
    'Default',
    'Savings',
    'Checking',
    'CreditCard',
    'Universal',
    'Investment',
    'CardTotals',
    'EpurseCard',
  ],
  Alignment: ['Left', 'Right', 'Centred', 'Justified'],
  AuthenticationMethod: [
    'Bypass',
    'ManualVerification',
    'MerchantAuthentication',
    'OfflinePIN',
    'OnlinePIN',
    'PaperSignature',
    'SecuredChannel',
    'SecureCertificate',
    'SecureNoCertificate',
    'SignatureCapture',
    'UnknownMethod',
  ],
  BarcodeType: ['EAN8', 'EAN13', 'UPCA', 'Code25', 'Code128', 'PDF417', 'QRCODE'],
  CharacterHeight: ['SingleHeight', 'DoubleHeight', 'HalfHeight'],
  CharacterStyle: ['Normal', 'Bold', 'Italic', 'Underlined', 'Underline'],
  CharacterWidth: ['SingleWidth', 'DoubleWidth'],
  CheckTypeCode: ['Personal', 'Company'],
  Color: ['White', 'Yellow', 'Magenta', 'Red', 'Cyan', 'Green', 'Blue', 'Black'],
  CustomerOrderReq: ['Open', 'Closed', 'Both'],
  EntryMode: [
    'RFID',
    'Keyed',
    'Manual',
    'File',
    'Scanned',
    'MagStripe',
    'ICC',
    'SynchronousICC',
    'Tapped',
    'Contactless',
    'Mobile',
  ],
  GenericProfile: ['Basic', 'Standard', 'Extended'],
  GlobalStatus: ['OK', 'Busy', 'Maintenance', 'Unreachable'],
  IdentificationSupport: ['NoCard', 'LoyaltyCard', 'HybridCard', 'LinkedCard'],
  IdentificationType: ['PAN', 'ISOTrack2', 'BarCode', 'AccountNumber', 'PhoneNumber'],
  InfoQualify: [
    'Status',
    'Error',
    'Display',
    'Sound',
    'Input',
    'POIReplication',
    'CustomerAssistance',
    'Receipt',
    'Document',
    'Voucher',
  ],
  InstalmentType: ['DeferredInstalments', 'EqualInstalments', 'InequalInstalments'],
  LoyaltyHandling: ['Forbidden', 'Processed', 'Allowed', 'Proposed', 'Required'],
  LoyaltyUnit: ['Point', 'Monetary'],
  MenuEntryTag: ['Selectable', 'NonSelectable', 'SubMenu', 'NonSelectableSubMenu'],
  PaymentInstrumentType: ['Card', 'Check', 'Mobile', 'StoredValue', 'Cash'],
  PeriodUnit: ['Daily', 'Weekly', 'Monthly', 'Annual'],
  POICapabilities: [
    'CashierDisplay',
    'CashierError',
    'CashierInput',
    'CustomerDisplay',
    'CustomerError',
    'CustomerInput',
    'PrinterReceipt',
    'PrinterDocument',
    'PrinterVoucher',
    'MagStripe',
    'ICC',
    'EMVContactless',
    'CashHandling',
  ],
  PrinterStatus: ['OK', 'PaperLow', 'NoPaper', 'PaperJam', 'OutOfOrder'],
  SaleCapabilities: [
    'CashierDisplay',
    'CashierError',
    'CashierInput',
    'CashierStatus',
    'CustomerAssistance',
    'CustomerDisplay',
    'CustomerError',
    'CustomerInput',
    'POIReplication',
    'PrinterReceipt',
    'PrinterDocument',
    'PrinterVoucher',
    'MagStripe',
    'ICC',
    'EMVContactless',
  ],
  ServiceProfile: [
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
  SoundFormat: ['SoundRef', 'MessageRef', 'Text'],
  StoredValueAccountType: ['GiftCard', 'PhoneCard', 'Other'],
  TerminalEnvironment: ['Attended', 'SemiAttended', 'Unattended'],
  TokenRequestedType: ['Transaction', 'Customer'],
  TotalDetails: ['POIID', 'SaleID', 'OperatorID', 'ShiftNumber', 'TotalsGroupID'],
  TrackFormat: ['ISO', 'JIS-I', 'JIS-II', 'AAMVA', 'CMC-7', 'E-13B'],
  TransactionType: [
    'Debit',
    'Credit',
    'ReverseDebit',
    'ReverseCredit',
    'OneTimeReservation',
    'CompletedDeffered',
    'FirstReservation',
    'UpdateReservation',
    'CompletedReservation',
    'CashAdvance',
    'IssuerInstalment',
    'Declined',
    'Failed',
    'Award',
    'ReverseAward',
    'Redemption',
    'ReverseRedemption',
    'Rebate',
    'ReverseRebate',
  ],
  UnitOfMeasure: [
    'Case',
    'Foot',
    'UKGallon',
    'USGallon',
    'Gram',
    'Inch',
    'Kilogram',
    'Pound',
    'Meter',
    'Centimetre',
    'Litre',
    'Centilitre',
    'Ounce',
    'Quart',
    'Pint',
    'Mile',
    'Kilometre',
    'Yard',
    'Other',
  ],
} as const satisfies Record<string, readonly string[]>;

/**
 * A value of a closed set.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @example
 * const result: ClosedValue<'Result'> = 'Partial';
 */
export type ClosedValue<Name extends keyof typeof closedSets> = (typeof closedSets)[Name][number];

/**
 * A value of an open set: the known ones, and any other text.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @example
 * const event: OpenValue<'EventToNotify'> = 'UseAnotherCardForPreauth';
 */
export type OpenValue<Name extends keyof typeof openSets> =
  | (typeof openSets)[Name][number]
  | (string & Record<never, never>);

/**
 * A category of messages.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @example
 * const category: Category = 'Payment';
 */
export type Category = ClosedValue<'MessageCategory'>;

/**
 * A type of messages.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @example
 * const type: MessageType = 'Request';
 */
export type MessageType = ClosedValue<'MessageType'>;
