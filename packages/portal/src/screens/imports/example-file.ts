/** An example file for an import. Its device does not exist in the demo. */
export const exampleFileName = 'estate-example.csv';

export const exampleCsv = [
  'type,operation,externalId,merchantExternalId,storeExternalId,logicalDeviceExternalId,name,country,mcc,timeZone,address.line1,address.city,address.postalCode,serialNumber,make,model,family,labels.region',
  'merchant,,M1,,,,Lumière,FR,5814,Europe/Paris,12 quai de Valmy,Paris,75010,,,,,north',
  'store,,S1,M1,,,Canal Saint-Martin,,,,12 quai de Valmy,Paris,75010,,,,,',
  'logicalDevice,,D1,,S1,,Counter 1,,,,,,,,,,,',
  'physicalDevice,,,,,D1,,,,,,,,30000001,AXIUM,DX8000,axium,',
  'pointOfSale,,P1,,S1,,Till 1,,,,,,,,,,,',
  '',
].join('\r\n');
