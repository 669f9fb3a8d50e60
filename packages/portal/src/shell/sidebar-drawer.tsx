/** The sidebar as a drawer on small screens. */
import { Drawer } from '@mantine/core';
import { useTranslate } from '../locales/index.ts';
import { Sidebar } from './sidebar.tsx';

export default function SidebarDrawer({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) {
  const t = useTranslate('shell');
  return (
    <Drawer.Root
      opened={isOpen}
      onClose={onClose}
      size="17rem"
      padding={0}
      classNames={{ content: 'sy-drawer', body: 'sy-drawer-body' }}
    >
      <Drawer.Overlay backgroundOpacity={0.45} />
      <Drawer.Content aria-label={t('navigation')}>
        <Drawer.Body>
          <Sidebar />
        </Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}
