/** Names of the synthetic staff: 64 given and 128 family names make 8,192 pairs. */

export const GIVEN = `Adam Agata Alina Amara Anders Anna Anton Aylin Beata Bruno Carla Cecilia Chidi
Clara Daniel Daria Diego Dorota Edgar Elif Elisa Emil Erik Esther Farid Fatima Felix Greta Hanna
Hassan Helena Igor Ines Iris Ivan Jakob Jana Jonas Julia Kamil Karin Laila Lars Leon Lidia Lukas
Magda Marco Maria Marta Milan Mina Nadia Nils Olga Omar Oskar Paula Pedro Rosa Samir Sofia Tomas
Vera`.split(/\s+/)

const STEMS = `Albrecht Andersen Bakker Barbosa Becker Bergmann Bianchi Brandt Castell Costa Dahl
Demir Dietrich Duarte Eklund Fischer Fontana Garrido Gruber Haddad Hansen Hoffmann Horvat Ibsen
Jansen Kaplan Keller Kowal Lindgren Moreau Novak Okafor`.split(/\s+/)

export const FAMILY = ['', 'son', 'ski', 'berg'].flatMap((end) => STEMS.map((stem) => stem + end))
