/** The profile of a merchant. */
import type { Merchant } from '@switchyard/contract';
import { countryName } from '../../components/forms/countries-and-time-zones.ts';
import { DescriptionList, Panel } from '../../components/layout/page.tsx';
import { useLanguage, useTranslate } from '../../locales/index.ts';
import { DeviceCountsPanel } from '../devices/device-counts.tsx';
import { LabelList, PostalAddress, useCommonDetails } from '../estate/detail-page.tsx';

export function MerchantProfile({ merchant }: { readonly merchant: Merchant }) {
  const t = useTranslate('estate');
  const language = useLanguage();
  const common = useCommonDetails(merchant.merchantId, merchant);
  return (
    <>
      <DeviceCountsPanel
        merchantId={merchant.merchantId}
        to={`/merchants/${merchant.merchantId}`}
        search={{ tab: 'devices' }}
      />
      <div className="sy-columns">
        <div className="sy-column">
          <Panel title={t('sections.merchant')}>
            <DescriptionList
              items={[
                [t('fields.country'), countryName(merchant.country, language)],
                [t('fields.mcc'), merchant.mcc],
                [t('fields.timeZone'), merchant.timeZone],
                ...common,
              ]}
            />
          </Panel>
          <LabelList labels={merchant.labels} />
        </div>
        <div className="sy-column">
          <Panel title={t('sections.contact')}>
            <DescriptionList
              items={[
                [
                  t('sections.address'),
                  merchant.address && <PostalAddress key="address" address={merchant.address} />,
                ],
                [t('fields.contact.name'), merchant.contact?.name],
                [
                  t('fields.contact.email'),
                  merchant.contact?.email && (
                    <a key="mail" className="sy-link" href={`mailto:${merchant.contact.email}`}>
                      {merchant.contact.email}
                    </a>
                  ),
                ],
                [
                  t('fields.contact.phone'),
                  merchant.contact?.phone && (
                    <a key="phone" className="sy-link" href={`tel:${merchant.contact.phone}`}>
                      {merchant.contact.phone}
                    </a>
                  ),
                ],
              ]}
            />
            {merchant.address === undefined && merchant.contact === undefined && (
              <p className="sy-nothing">{t('noContact')}</p>
            )}
          </Panel>
        </div>
      </div>
    </>
  );
}
