ATTACH DATABASE '../../../data/aouo.db' AS core;
